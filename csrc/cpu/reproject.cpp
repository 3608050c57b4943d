// SPDX-License-Identifier: Apache-2.0
#include "cpu/reproject.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/rays.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

template <typename T>
constexpr T kNone = std::numeric_limits<T>::quiet_NaN();

constexpr std::int64_t kPointsAtOnce = 1 << 14;
constexpr std::int64_t kRowsAtOnce = 32;

// Where the pixels of a row land, in float64.
struct Landed {
  std::vector<double> u, v, z;

  explicit Landed(std::int64_t width) : u(width), v(width), z(width) {}
};

template <typename T>
isa::DestinationView<T> image(const Passages& passages, std::int64_t item, std::int64_t height,
                              std::int64_t width) {
  return {passages.to[item], passages.destination[item], height, width, nullptr, nullptr};
}

}  // namespace

template <typename T>
void project_points(const T* points, std::int64_t n_items, std::int64_t n_points, const Camera* cameras,
                    const Transform* to_camera, T* pixels, T* depth, std::uint8_t* valid) {
  std::int64_t across = static_cast<std::int64_t>(chunk_count(n_points, kPointsAtOnce));
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk) / across,
                 first = static_cast<std::int64_t>(chunk) % across;
    Camera camera = cameras[item];
    Transform to = to_camera[item];
    bool usable = is_usable(camera) && is_usable(to);
    std::int64_t begin = item * n_points + first * kPointsAtOnce;
    std::int64_t end = std::min(begin + kPointsAtOnce, (item + 1) * n_points);
    for (std::int64_t i = begin; i < end; ++i) {
      Point3<double> p = transform(to, Point3<double>{points[3 * i], points[3 * i + 1], points[3 * i + 2]});
      Pixel<double> at = project(p, camera);
      bool ahead = usable && is_depth(p.z) && is_finite(at.u) && is_finite(at.v);
      pixels[2 * i] = ahead ? static_cast<T>(at.u) : kNone<T>;
      pixels[2 * i + 1] = ahead ? static_cast<T>(at.v) : kNone<T>;
      depth[i] = usable && is_finite(p.z) ? static_cast<T>(p.z) : kNone<T>;
      valid[i] = ahead;
    }
  };
  for_chunks(static_cast<std::size_t>(n_items * across), body);
}

template <typename T>
void unproject_depth(const Maps<T>& depth, std::int64_t n_items, const Camera* cameras, T* points) {
  std::int64_t across = static_cast<std::int64_t>(chunk_count(depth.height, kRowsAtOnce));
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk) / across;
    std::int64_t first = static_cast<std::int64_t>(chunk) % across * kRowsAtOnce;
    Rays rays(cameras[item], depth.height, depth.width);
    bool usable = is_usable(cameras[item]);
    for (std::int64_t row = first; row < std::min(first + kRowsAtOnce, depth.height); ++row) {
      const T* z = depth.at(item) + row * depth.width;
      T* out = points + (item * depth.height + row) * depth.width * 3;
      for (std::int64_t i = 0; i < depth.width; ++i) {
        bool there = usable && is_depth(static_cast<double>(z[i]));
        out[3 * i] = there ? static_cast<T>(rays.x[i] * z[i]) : kNone<T>;
        out[3 * i + 1] = there ? static_cast<T>(rays.y[row] * z[i]) : kNone<T>;
        out[3 * i + 2] = there ? z[i] : kNone<T>;
      }
    }
  };
  for_chunks(static_cast<std::size_t>(n_items * across), body);
}

template <typename T>
void reproject_depth(const Maps<T>& depth, const Passages& passages, std::int64_t height, std::int64_t width,
                     T* pixels, T* z, std::uint8_t* valid) {
  std::int64_t across = static_cast<std::int64_t>(chunk_count(depth.height, kRowsAtOnce)), w = depth.width;
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk) / across;
    std::int64_t first = static_cast<std::int64_t>(chunk) % across * kRowsAtOnce;
    Rays rays(passages.source[item], depth.height, w);
    Landed at(w);
    bool usable = passages.usable(item);
    isa::DestinationView<T> to = image<T>(passages, item, height, width);
    for (std::int64_t row = first; row < std::min(first + kRowsAtOnce, depth.height); ++row) {
      reproject_kernels<T>().land(rays.row(depth.at(item), row), to, at.u.data(), at.v.data(), at.z.data());
      std::int64_t out = (item * depth.height + row) * w;
      for (std::int64_t i = 0; i < w; ++i) {
        pixels[2 * (out + i)] = usable ? static_cast<T>(at.u[i]) : kNone<T>;
        pixels[2 * (out + i) + 1] = usable ? static_cast<T>(at.v[i]) : kNone<T>;
        z[out + i] = usable ? static_cast<T>(at.z[i]) : kNone<T>;
        valid[out + i] = usable & is_depth(at.z[i]) & within(at.u[i] + 0.5, static_cast<double>(width)) &
                         within(at.v[i] + 0.5, static_cast<double>(height));
      }
    }
  };
  for_chunks(static_cast<std::size_t>(passages.n * across), body);
}

template <typename T>
void splat_depth(const Maps<T>& depth, const Passages& passages, std::int64_t height, std::int64_t width,
                 T* z, std::int64_t* source, std::uint8_t* valid) {
  std::int64_t w = depth.width, n = height * width;
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk);
    T* nearest = z + item * n;
    std::int64_t* from = source + item * n;
    std::fill_n(nearest, n, std::numeric_limits<T>::infinity());
    std::fill_n(from, n, -1);
    Rays rays(passages.source[item], depth.height, w);
    Landed at(w);
    isa::DestinationView<T> to = image<T>(passages, item, height, width);
    for (std::int64_t row = 0; passages.usable(item) && row < depth.height; ++row) {
      reproject_kernels<T>().land(rays.row(depth.at(item), row), to, at.u.data(), at.v.data(), at.z.data());
      for (std::int64_t i = 0; i < w; ++i) {
        double column = at.u[i] + 0.5, line = at.v[i] + 0.5;
        if (!(within(column, static_cast<double>(width)) & within(line, static_cast<double>(height))))
          continue;
        std::int64_t pixel = static_cast<std::int32_t>(line) * width + static_cast<std::int32_t>(column);
        T there = static_cast<T>(at.z[i]);
        if (!(there > 0 && there < nearest[pixel])) continue;
        nearest[pixel] = there;
        from[pixel] = row * w + i;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      valid[item * n + i] = from[i] >= 0;
      if (from[i] < 0) nearest[i] = kNone<T>;
    }
  };
  for_chunks(static_cast<std::size_t>(passages.n), body);
}

#define WMB_INSTANTIATE(T)                                                                                  \
  template void project_points(const T*, std::int64_t, std::int64_t, const Camera*, const Transform*, T*,   \
                               T*, std::uint8_t*);                                                          \
  template void unproject_depth(const Maps<T>&, std::int64_t, const Camera*, T*);                           \
  template void reproject_depth(const Maps<T>&, const Passages&, std::int64_t, std::int64_t, T*, T*,        \
                                std::uint8_t*);                                                             \
  template void splat_depth(const Maps<T>&, const Passages&, std::int64_t, std::int64_t, T*, std::int64_t*, \
                            std::uint8_t*);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb
