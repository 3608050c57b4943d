// SPDX-License-Identifier: Apache-2.0
// The kernels whose mathematics is csrc/core's: compiled without fused multiply-add, they give the bits of
// the portable ones because each lane does the same operations in the same order.
#pragma once

#include <cstdint>

#include "core/similarity.h"
#include "core/views.h"

namespace wmb::isa {

// A row of source pixels: their depth, and the rays through them at depth 1.
template <typename T>
struct SourceRow {
  const T* depth;
  std::int64_t width;
  const double* ray_x;
  double ray_y;
};

// Points in their own camera's coordinates.
struct SourcePoints {
  std::int64_t n;
  const double *x, *y, *z;
};

// The view that pixels or points are taken to. confidence is null where there is none.
template <typename T>
struct DestinationView {
  Transform from_source;
  Camera camera;
  std::int64_t height, width;  // height * width < 2^31
  const T* depth;
  const T* confidence;
};

// A point is co-visible where lo < z / d < hi, the ratio rounded to T, and confidence is at least
// `confidence`.
template <typename T>
struct Gate {
  T lo, hi;
  double confidence;
};

struct Tally {
  std::int64_t asked = 0, inside = 0, covisible = 0;
  double error = 0;  // the sum, position by position in four lanes, then the lanes
};

// Points of one instance in a view: their pixels (n, 2), their depth and the depth seen there. confidence is
// null where there is none.
template <typename T>
struct SampledPoints {
  std::int64_t n;
  const T *pixels, *depth, *seen, *confidence;
  double width, height;
};

struct SampledTally {
  std::int64_t finite, inside, usable, occluded;
};

template <typename T>
struct Reproject {
  // Where a row's pixels land: column, row, depth in float64, NaN for a pixel without depth. Pixels behind
  // the camera have no column and row.
  void (*land)(const SourceRow<T>& row, const DestinationView<T>& to, double* u, double* v, double* z);

  // |z - d| / d of a row's pixels, infinity where not co-visible; d is the nearest pixel's depth, or
  // interpolated. Adds to asked (pixels with depth) and covisible. The second reads one element beyond a map
  // that is one pixel wide.
  void (*agree_nearest)(const SourceRow<T>& row, const DestinationView<T>& to, Gate<T> gate, T* error,
                        Tally& tally);
  void (*agree_bilinear)(const SourceRow<T>& row, const DestinationView<T>& to, Gate<T> gate, T* error,
                         Tally& tally);

  // Distance of each point to the one that the destination sees in the pixel (floor) it falls into, infinity
  // where not co-visible. Adds to inside, covisible and error.
  void (*distance)(const SourcePoints& points, const DestinationView<T>& to, Gate<T> gate, T* error,
                   Tally& tally);

  // The same as a distance in source pixels: what the destination sees there is taken back along its own ray.
  void (*round_trip)(const SourcePoints& points, const DestinationView<T>& to, const Transform& back,
                     const Camera& source, Gate<T> gate, T* error, Tally& tally);

  // How many points are finite; inside, and before the camera; of those, where a depth of at least
  // `trusted` is seen; and of those, where it is less than `occlusion` of the point's.
  SampledTally (*sampled)(const SampledPoints<T>& points, double occlusion, double trusted);
};

// How many of some values lie where.
struct Ranks {
  std::int64_t usable, below, at_low, inside, at_high;
};

template <typename T>
struct Select {
  // How many of the values x lie in least < x < pivot.
  std::int64_t (*below)(std::int64_t n, const T* x, T least, T pivot);

  // Of the values x with least < x < infinity: adds up how many there are, below low, at low, strictly
  // between, and at high (where low == high they are at low), and writes those strictly between to `kept`,
  // which has room for n + 8.
  void (*between)(std::int64_t n, const T* x, T least, T low, T high, T* kept, Ranks& ranks);
};

// One thing of category `mine` and n others whose vectors can all be compared with its; no attribute counts.
template <typename T>
struct PlainPairs {
  std::int64_t n;
  const T* cosines;
  const std::int64_t* categories;
  std::int64_t mine;
};

// Writes their scores. Returns how many cosines are near the rule's floor.
template <typename T>
using PlainScores = std::int64_t (*)(const PlainPairs<T>& pairs, const SimilarityRule& rule, double* scores);

struct Unfused {
  Reproject<float> reproject_f32;
  Reproject<double> reproject_f64;
  Select<float> select_f32;
  Select<double> select_f64;
  PlainScores<float> plain_scores_f32;
  PlainScores<double> plain_scores_f64;
};

extern const Unfused unfused_portable;
extern const Unfused unfused_avx2;

}  // namespace wmb::isa
