// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/reproject.h"
#include "core/visibility.h"
#include "cpu/isa/unfused.h"

namespace wmb {

// Depth maps of one size; item i of a batch uses map number[i], so that one map can serve many items.
template <typename T>
struct Maps {
  const T* data;
  std::int64_t height, width;
  const std::int64_t* number;

  const T* at(std::int64_t item) const { return data + number[item] * height * width; }
};

// Where item i's pixels come from and go to: T_dst_src and both cameras, an item each.
struct Passages {
  std::int64_t n;
  const Transform* to;
  const Camera *source, *destination;

  bool usable(std::int64_t i) const {
    return is_usable(to[i]) && is_usable(source[i]) && is_usable(destination[i]);
  }
};

// Outputs are NaN (valid: 0) where there is none. Points are x, y, z; pixels are u, v.
template <typename T>
void project_points(const T* points, std::int64_t n_items, std::int64_t n_points, const Camera* cameras,
                    const Transform* to_camera, T* pixels, T* depth, std::uint8_t* valid);

template <typename T>
void unproject_depth(const Maps<T>& depth, std::int64_t n_items, const Camera* cameras, T* points);

// valid: has depth, is in front of the destination camera and inside its image of height x width.
template <typename T>
void reproject_depth(const Maps<T>& depth, const Passages& passages, std::int64_t height, std::int64_t width,
                     T* pixels, T* z, std::uint8_t* valid);

// The nearest of the points that fall into each destination pixel, the first of equally near ones.
template <typename T>
void splat_depth(const Maps<T>& depth, const Passages& passages, std::int64_t height, std::int64_t width,
                 T* z, std::int64_t* source, std::uint8_t* valid);

struct AgreementOut {
  double* median;
  std::int64_t *asked, *covisible;  // pixels with depth; those of them that are co-visible
  std::uint8_t* code;
};

template <typename T>
void depth_agreement(const Maps<T>& source, const Maps<T>& destination, const Passages& passages, T lo, T hi,
                     bool bilinear, const AgreementOut& out);

// K frames an item.
template <typename T>
struct Clips {
  std::int64_t n, frames, height, width;
  const T *depth, *confidence;  // confidence may be null
  const Transform* to_world;
  const Camera* cameras;
};

struct ErrorRule {
  std::int64_t grid, min_points;
  double lo, hi, confidence_quantile;
  bool pixels;
};

struct ErrorOut {
  double *median, *mean, *per_pair;  // per_pair[i * frames + j]: the points of i, taken to j
  std::int64_t *n_pairs, *inside, *covisible;
  std::uint8_t* code;
};

template <typename T>
void reprojection_error(const Clips<T>& clips, const ErrorRule& rule, const ErrorOut& out);

// n_points points of each of n_instances instances an item, in world coordinates. confidence may be null.
template <typename T>
void visibility(const T* points, std::int64_t n_instances, std::int64_t n_points, const Maps<T>& depth,
                const T* confidence, std::int64_t n_items, const Camera* cameras, const Transform* to_camera,
                const VisibilityRule& rule, std::uint8_t* state);

// Points already projected: up to n_points an item, of which the first lengths[i] count. sizes: width,
// height.
template <typename T>
struct Samples {
  std::int64_t n, n_points;
  const T *pixels, *depth, *seen, *confidence;  // confidence may be null
  const std::int64_t* lengths;
  const double* sizes;
};

struct SampledOut {
  std::uint8_t* state;
  double *inside, *known, *occluded, *visible, *area;
};

// Fractions are of all points, `known` of those inside. area is NaN unless asked for.
template <typename T>
void sampled_visibility(const Samples<T>& samples, const VisibilityRule& rule, bool with_area,
                        const SampledOut& out);

}  // namespace wmb
