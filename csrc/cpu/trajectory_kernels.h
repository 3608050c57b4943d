// SPDX-License-Identifier: Apache-2.0
// The inner loops of the trajectory ops, in as many compilations as there are instruction sets worth having.
// All give the same bits: four fixed lanes, no fused multiply-add, sums in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trajectory.h"

namespace wmb {

// Where a kernel finds the poses of one trajectory: 4x4, row-major, all of one type.
template <typename T>
struct PosePairs {
  const T* est;
  const T* ref;
};

using StepOptions = StepRule<double>;

// Sums over a row of numbers, about the first of them (about zero where that is not finite), and as they are.
struct ErrorSums {
  double about, sum, about_squares, squares, least, largest;
};

constexpr int kPivots = 3;
constexpr std::size_t kLanesOfPack = 4;

struct TrajectoryKernels {
  // Sums over n points about the first of them. Where the points are read again, by `distances`, what will be
  // read after that lies `ahead` numbers further on, and each of the two asks for half of it, x or y; 0 where
  // they are not.
  void (*moments)(const double* x, const double* y, std::size_t n, std::size_t ahead, Moments& out);
  // Four decompositions at once.
  void (*svd)(const Mat3<double> (&matrices)[4], Svd3<double> (&out)[4]);
  // |e| of n points, with sums of all, and the sum of the squares over the first n_fit of them. `errors` and
  // `sums` may both be null.
  double (*distances)(const double* x, const double* y, std::size_t n, std::size_t n_fit, std::size_t ahead,
                      const Residual& r, double* errors, ErrorSums* sums);
  // Absolute errors of n poses.
  void (*pose_errors)(const PosePairs<double>& poses, std::size_t n, const Residual& r,
                      const Mat3<double>& rotation, Relation relation, bool polish, double* errors);
  void (*pose_errors_f32)(const PosePairs<float>& poses, std::size_t n, const Residual& r,
                          const Mat3<double>& rotation, Relation relation, bool polish, double* errors);
  // Relative errors of n pairs of poses: translation, rotation in degrees, and `extra` where asked for.
  void (*step_errors)(const PosePairs<double>& poses, const std::int64_t* pairs, std::size_t n,
                      const StepOptions& options, double* translation, double* rotation, double* extra);
  void (*step_errors_f32)(const PosePairs<float>& poses, const std::int64_t* pairs, std::size_t n,
                          const StepOptions& options, double* translation, double* rotation, double* extra);
  // Sums of n numbers: the same bits as from `distances`.
  void (*sums)(const double* e, std::size_t n, ErrorSums& out);
  // How many of n numbers are below each pivot; and, in order, those that are at least `low` and below
  // `high`; `out` has room for n + kLanesOfPack and may be `e`.
  void (*count_below)(const double* e, std::size_t n, const double (&pivots)[kPivots],
                      std::size_t (&counts)[kPivots]);
  std::size_t (*keep_between)(const double* e, std::size_t n, double low, double high, double* out);
  // Whether n poses are finite, with a last row of 0 0 0 1 and within kRefuseAbove of a rotation; `deviation`
  // is then the largest max |R'R - I|. False also where it cannot tell. Their positions go to `points`, if
  // that is not null.
  bool (*all_usable)(const double* poses, std::size_t n, double* points, double& deviation);
  bool (*all_usable_f32)(const float* poses, std::size_t n, double* points, double& deviation);
  // max |R'R - I| of n poses; NaN where an entry is not finite, -1 where the determinant is negative, -2
  // where the last row is not 0 0 0 1.
  void (*deviations)(const double* poses, std::size_t n, double* out);
  void (*deviations_f32)(const float* poses, std::size_t n, double* out);
};

// Those of the SIMD level in force (cpu/simd.h).
const TrajectoryKernels& trajectory_kernels();

extern const TrajectoryKernels kBaseTrajectoryKernels;
extern const TrajectoryKernels kAvx2TrajectoryKernels;  // x86-64 alone

}  // namespace wmb
