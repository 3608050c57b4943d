// SPDX-License-Identifier: Apache-2.0
// Pixels and points, a thread each. A thread keeps its column for the rows of a tile, because a ray takes a
// division and what it does to a pixel hardly more.
#include "cuda/reproject.h"

#include <cstring>

#include "core/views.h"
#include "cuda/launch.h"

namespace wmb::cuda {
namespace {

constexpr int kPoints = 256;  // threads of a block of points

template <typename T>
WMB_HD inline T none() {
  return static_cast<T>(__builtin_nan(""));
}

// So that both coordinates of a pixel are stored at once.
template <typename T>
struct alignas(2 * sizeof(T)) Coordinates {
  T u, v;
};

template <typename T>
__global__ void __launch_bounds__(kPoints)
    project_each(Batch batch, std::size_t first, PointSets<T> points, Cameras<T> cameras,
                 Transforms<T> to_camera, T* pixels, T* depth, std::uint8_t* valid) {
  __shared__ Transform to;
  __shared__ Camera camera;
  __shared__ bool usable;
  const std::size_t item = first + blockIdx.y;
  if (threadIdx.x == 0) {
    bool refused;
    to = read_transform(to_camera.data + batch.element(item, to_camera.steps) * 16, refused);
    camera = read_camera(cameras.data + batch.element(item, cameras.steps) * cameras.numbers, cameras.numbers,
                         refused);
    usable = is_usable(to) && is_usable(camera);
  }
  __syncthreads();
  const std::int64_t i = std::int64_t{blockIdx.x} * kPoints + threadIdx.x;
  if (i >= points.n) return;
  const T* at = points.data + (batch.element(item, points.steps) * points.n + i) * 3;
  const Point3<double> p = transform(
      to, Point3<double>{static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2])});
  const Pixel<double> landed = project(p, camera);
  const bool ahead = usable && is_depth(p.z) && is_finite(landed.u) && is_finite(landed.v);
  const std::int64_t out = static_cast<std::int64_t>(item) * points.n + i;
  reinterpret_cast<Coordinates<T>*>(pixels)[out] = {ahead ? static_cast<T>(landed.u) : none<T>(),
                                                    ahead ? static_cast<T>(landed.v) : none<T>()};
  depth[out] = usable && is_finite(p.z) ? static_cast<T>(p.z) : none<T>();
  valid[out] = ahead;
}

template <typename T>
__global__ void __launch_bounds__(kColumns)
    unproject_each(Batch batch, std::size_t first, Maps<T> depth, Cameras<T> cameras, T* points) {
  const std::size_t item = first + blockIdx.y;
  bool refused;
  const Camera camera = read_camera(cameras.data + batch.element(item, cameras.steps) * cameras.numbers,
                                    cameras.numbers, refused);
  const bool usable = is_usable(camera);
  const Tile tile = tile_of(depth.height, depth.width);
  if (tile.column >= depth.width) return;
  const T* map = depth.at(batch, item);
  const double ray_x = ray(static_cast<double>(tile.column), camera.fx, camera.cx);
  for (int r = 0; r < tile.rows; ++r) {
    const std::int64_t pixel = (tile.row + r) * depth.width + tile.column;
    const double z = static_cast<double>(map[pixel]);
    const double ray_y = ray(static_cast<double>(tile.row + r), camera.fy, camera.cy);
    const bool there = usable && is_depth(z);
    T* out = points + (static_cast<std::int64_t>(item) * depth.height * depth.width + pixel) * 3;
    out[0] = there ? static_cast<T>(ray_x * z) : none<T>();
    out[1] = there ? static_cast<T>(ray_y * z) : none<T>();
    out[2] = there ? map[pixel] : none<T>();
  }
}

template <typename T>
__global__ void __launch_bounds__(kColumns)
    reproject_each(Maps<T> depth, Passages<T> passages, std::size_t first, std::int64_t height,
                   std::int64_t width, T* pixels, T* z, std::uint8_t* valid) {
  __shared__ TileRoom room;
  const std::size_t item = first + blockIdx.y;
  const Tile tile = tile_of(depth.height, depth.width);
  enter_tile(passages, item, tile, room);
  if (tile.column >= depth.width) return;
  const Passage& passage = room.passage;
  const bool usable = passage.usable;
  const double ray_x = ray(static_cast<double>(tile.column), passage.source.fx, passage.source.cx);
  const std::int64_t begin = tile.row * depth.width + tile.column;
  const T* from = depth.at(passages.batch, item) + begin;
  const std::int64_t to = static_cast<std::int64_t>(item) * depth.height * depth.width + begin;
#pragma unroll 4
  for (int r = 0; r < tile.rows; ++r) {
    const std::int64_t out = to + r * depth.width;
    const Landing landed = land(static_cast<double>(from[r * depth.width]), ray_x, room.ray_y[r], passage);
    const bool seen = usable && landed.ahead;
    reinterpret_cast<Coordinates<T>*>(pixels)[out] = {seen ? static_cast<T>(landed.at.u) : none<T>(),
                                                      seen ? static_cast<T>(landed.at.v) : none<T>()};
    z[out] = usable && landed.there ? static_cast<T>(landed.p.z) : none<T>();
    valid[out] = seen && is_depth(landed.p.z) && within(landed.at.u + 0.5, static_cast<double>(width)) &&
                 within(landed.at.v + 0.5, static_cast<double>(height));
  }
}

// Z-buffers. A depth above zero has the order of its bits. In float32 its bits and the number of its pixel
// make one key, so that the least key is the nearest point, and of equally near ones the first: the room of
// the index holds it until all points have fallen. In float64 depths fall first, and then the numbers of
// those that stayed.
using Bits = unsigned long long;
constexpr Bits kEmpty = ~Bits(0);

enum class Fall { keys, depths, numbers };

template <Fall what, typename T>
__global__ void __launch_bounds__(kColumns)
    let_fall(Maps<T> depth, Passages<T> passages, std::size_t first, std::int64_t height, std::int64_t width,
             T* z, std::int64_t* source) {
  __shared__ TileRoom room;
  const std::size_t item = first + blockIdx.y;
  const Tile tile = tile_of(depth.height, depth.width);
  enter_tile(passages, item, tile, room);
  const Passage& passage = room.passage;
  if (tile.column >= depth.width || !passage.usable) return;
  const double ray_x = ray(static_cast<double>(tile.column), passage.source.fx, passage.source.cx);
  const std::int64_t begin = tile.row * depth.width + tile.column;
  const T* from = depth.at(passages.batch, item) + begin;
  const std::int64_t to = static_cast<std::int64_t>(item) * height * width;
  for (int r = 0; r < tile.rows; ++r) {
    const Landing landed = land(static_cast<double>(from[r * depth.width]), ray_x, room.ray_y[r], passage);
    double number;
    if (!landed.ahead ||
        !nearest_pixel(landed.at, static_cast<double>(height), static_cast<double>(width), number))
      continue;
    const T near = static_cast<T>(landed.p.z);
    if (!(near > 0 && near < static_cast<T>(kNoLimit))) continue;
    const std::int64_t pixel = to + static_cast<std::int64_t>(number);
    const Bits own = static_cast<Bits>(begin + r * depth.width);
    Bits* numbers = reinterpret_cast<Bits*>(source) + pixel;
    if constexpr (what == Fall::keys) {
      unsigned bits;
      memcpy(&bits, &near, sizeof bits);
      atomicMin(numbers, Bits{bits} << 32 | own);
    } else {
      Bits bits;
      memcpy(&bits, &near, sizeof bits);
      Bits* depths = reinterpret_cast<Bits*>(z) + pixel;
      if (what == Fall::depths)
        atomicMin(depths, bits);
      else if (*depths == bits)
        atomicMin(numbers, own);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kPoints) empty_each(std::int64_t n, T* z, std::int64_t* source) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kPoints + threadIdx.x;
  if (i >= n) return;
  source[i] = -1;
  if constexpr (sizeof(T) == sizeof(Bits)) reinterpret_cast<Bits*>(z)[i] = kEmpty;
}

template <typename T>
__global__ void __launch_bounds__(kPoints)
    settle_each(std::int64_t n, T* z, std::int64_t* source, std::uint8_t* valid) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kPoints + threadIdx.x;
  if (i >= n) return;
  const std::int64_t key = source[i];
  valid[i] = key != -1;
  if (key == -1) {
    z[i] = none<T>();
  } else if constexpr (sizeof(T) == sizeof(unsigned)) {
    const unsigned bits = static_cast<unsigned>(static_cast<Bits>(key) >> 32);
    memcpy(z + i, &bits, sizeof bits);
    source[i] = static_cast<std::int64_t>(static_cast<Bits>(key) & 0xffffffffu);
  }
}

inline unsigned blocks_of(std::int64_t points) {
  return static_cast<unsigned>((points + kPoints - 1) / kPoints);
}

}  // namespace

template <typename T>
int project_points(const Batch& batch, const PointSets<T>& points, const Cameras<T>& cameras,
                   const Transforms<T>& to_camera, T* pixels, T* depth, std::uint8_t* valid,
                   cudaStream_t stream) {
  if (points.n == 0) return 0;
  return in_batches(batch.n, [&](std::size_t first, unsigned n) {
    return launch(project_each<T>, dim3(blocks_of(points.n), n), dim3(kPoints), stream, batch, first, points,
                  cameras, to_camera, pixels, depth, valid);
  });
}

template <typename T>
int unproject_depth(const Batch& batch, const Maps<T>& depth, const Cameras<T>& cameras, T* points,
                    cudaStream_t stream) {
  const unsigned tiles = tiles_of(depth.height, depth.width);
  return in_batches(batch.n, [&](std::size_t first, unsigned n) {
    return launch(unproject_each<T>, dim3(tiles, n), dim3(kColumns), stream, batch, first, depth, cameras,
                  points);
  });
}

template <typename T>
int reproject_depth(const Maps<T>& depth, const Passages<T>& passages, std::int64_t height,
                    std::int64_t width, T* pixels, T* z, std::uint8_t* valid, cudaStream_t stream) {
  const unsigned tiles = tiles_of(depth.height, depth.width);
  return in_batches(passages.batch.n, [&](std::size_t first, unsigned n) {
    return launch(reproject_each<T>, dim3(tiles, n), dim3(kColumns), stream, depth, passages, first, height,
                  width, pixels, z, valid);
  });
}

template <typename T>
int splat_depth(const Maps<T>& depth, const Passages<T>& passages, std::int64_t height, std::int64_t width,
                T* z, std::int64_t* source, std::uint8_t* valid, cudaStream_t stream) {
  const std::int64_t n_pixels = static_cast<std::int64_t>(passages.batch.n) * height * width;
  if (n_pixels == 0) return 0;
  const dim3 pixels(blocks_of(n_pixels)), threads(kPoints);
  if (const int error = launch(empty_each<T>, pixels, threads, stream, n_pixels, z, source)) return error;
  auto fall = [&](auto* kernel) {
    return in_batches(passages.batch.n, [&](std::size_t first, unsigned n) {
      return launch(kernel, dim3(tiles_of(depth.height, depth.width), n), dim3(kColumns), stream, depth,
                    passages, first, height, width, z, source);
    });
  };
  int error = 0;
  if constexpr (sizeof(T) == sizeof(unsigned)) {
    error = fall(let_fall<Fall::keys, T>);
  } else {
    error = fall(let_fall<Fall::depths, T>);
    if (error == 0) error = fall(let_fall<Fall::numbers, T>);
  }
  return error != 0 ? error : launch(settle_each<T>, pixels, threads, stream, n_pixels, z, source, valid);
}

#define WMB_INSTANTIATE(T)                                                                                \
  template int project_points(const Batch&, const PointSets<T>&, const Cameras<T>&, const Transforms<T>&, \
                              T*, T*, std::uint8_t*, cudaStream_t);                                       \
  template int unproject_depth(const Batch&, const Maps<T>&, const Cameras<T>&, T*, cudaStream_t);        \
  template int reproject_depth(const Maps<T>&, const Passages<T>&, std::int64_t, std::int64_t, T*, T*,    \
                               std::uint8_t*, cudaStream_t);                                              \
  template int splat_depth(const Maps<T>&, const Passages<T>&, std::int64_t, std::int64_t, T*,            \
                           std::int64_t*, std::uint8_t*, cudaStream_t);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb::cuda
