// SPDX-License-Identifier: Apache-2.0
// A batch of pairs of trajectories, and one pair on its way through the alignment. Shared by align.cpp and
// rpe.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/trajectory.h"
#include "cpu/trajectory_kernels.h"

namespace wmb {

constexpr std::size_t kLanesOfSvd = 4;
constexpr std::size_t kCheckBlock = 512;       // poses that are checked between two looks at the result
constexpr std::size_t kPoint = 3, kPose = 16;  // numbers from one point, or pose, to the next

// Items lie in one array of points or poses: item i is the size(i) of them from begin(i) on.
struct Items {
  std::size_t n;
  std::size_t each;            // the size of every item, where there is no `lengths`
  const std::int64_t* starts;  // null: every `each`
  const std::int64_t* lengths;
  const std::uint8_t* mask;  // one a pose, 1 = use; may be null

  std::size_t begin(std::size_t i) const {
    return starts == nullptr ? i * each : static_cast<std::size_t>(starts[i]);
  }
  std::size_t size(std::size_t i) const {
    return lengths == nullptr ? each : static_cast<std::size_t>(lengths[i]);
  }
};

template <typename T>
struct Tracks {
  const T* est;
  const T* ref;
  std::size_t stride;  // kPoint or kPose
};

struct FitOptions {
  Align align;
  std::int64_t n_fit;  // the first so many poses make the fit; negative: all
};

// A row of a fit: rotation (9), translation (3), scale, rmse, rank, reason.
constexpr std::size_t kFitRow = 16;
// A row of statistics: rmse, mean, median, std, min, max, sse; and the number of errors they are of.
constexpr std::size_t kStatisticsRow = 8;

template <typename T>
inline Pose<double> pose_at(const T* poses, std::size_t k) {
  const T* p = poses + kPose * k;
  Pose<double> out;
  for (int i = 0; i < 9; ++i) out.r.m[i] = static_cast<double>(p[4 * (i / 3) + i % 3]);
  out.p = {static_cast<double>(p[3]), static_cast<double>(p[7]), static_cast<double>(p[11])};
  return out;
}

// One pair of trajectories: the points that count, side by side, and what is known of them.
struct Problem {
  const double* x = nullptr;
  const double* y = nullptr;
  std::size_t n = 0, n_fit = 0;
  bool whole = true;                // no point was left out
  std::vector<std::int64_t> index;  // else: where in the item each point was
  std::vector<double> held_x, held_y;
  bool holds_all = false;  // held_x and held_y are the item's points already
  Moments moments = {};
  Spread spread = {};
  Sim3 fit = {};
  Residual residual = {};
  double mean_square = 0.0;  // of the fit's distances, where the moments tell it; else NaN
};

// The points of an item whose coordinates are finite and whose mask, if any, is set; and their moments. For
// `ahead` see TrajectoryKernels::moments.
template <typename T>
void collect(const Tracks<T>& tracks, const std::uint8_t* mask, std::size_t n, std::int64_t n_fit,
             Problem& problem, std::size_t ahead = 0);

// Fits up to four problems at once.
void fit(Problem* problems, std::size_t count, Align align, double epsilon);

// The alignment that puts the first pose that counts onto the reference's.
template <typename T>
void fit_origin(const Tracks<T>& tracks, Problem& problem);

void write_fit(const Problem& problem, double sse, double* row);

// Statistics of n numbers, none NaN, whose sums are known; and of those that are not NaN.
void summarise(const double* errors, std::size_t n, const ErrorSums& sums, std::vector<double>& scratch,
               double* row);
void summarise(const double* errors, std::size_t n, std::vector<double>& scratch, double* row);

// Which poses of a trajectory can be used.
struct PoseCheck {
  bool plain = true;     // every pose is used, as it stands
  bool project = false;  // some are replaced by the nearest rotation
  bool polish = false;   // some are off a rotation by more than rounding
  double deviation = 0.0;
  std::vector<std::uint8_t> use;  // where not plain: finite, and the mask set
};

// Index of the first pose that is no pose, by trajectory; the lowest over all items wins whatever the threads
// do.
struct Refused {
  std::int64_t est = -1, ref = -1;
};

// Where every pose can be used, their positions are gathered on the way; `gathered` may be null.
template <typename T>
PoseCheck check_poses(const Tracks<T>& tracks, const Items& items, std::size_t item, Refused& refused,
                      Problem* gathered);

// The poses of one item in float64, those off SO(3) replaced by the nearest rotation.
template <typename T>
void project_poses(const T* from, std::size_t n, std::vector<double>& to);

template <typename T>
constexpr double epsilon_of() {
  return sizeof(T) == 4 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
}

}  // namespace wmb
