// SPDX-License-Identifier: Apache-2.0
// How the threads of a block read the cameras and transforms of an item, and where its pixels land.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/reproject.h"
#include "cuda/launch.h"
#include "cuda/views.h"

namespace wmb::cuda {

constexpr double kLastRowSlack = 1e-6;  // as of the host's checks: what an inverse or a product may have lost

// A camera; one that the host would refuse is not finite, and `refused` says so.
template <typename T>
__device__ inline Camera read_camera(const T* at, int numbers, bool& refused) {
  refused = false;
  if (numbers == 4)
    return {static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2]),
            static_cast<double>(at[3])};
  bool finite = true, plain = true;
  for (int k = 0; k < 9; ++k) {
    if (k == 0 || k == 2 || k == 4 || k == 5) continue;
    const double value = static_cast<double>(at[k]);
    finite = finite && is_finite(value);
    plain = plain && value == (k == 8 ? 1.0 : 0.0);
  }
  refused = finite && !plain;
  const double fx = refused ? __builtin_nan("") : static_cast<double>(at[0]);
  return {fx, static_cast<double>(at[4]), static_cast<double>(at[2]), static_cast<double>(at[5])};
}

// The same of a transform; one whose last row is not finite is not usable either.
template <typename T>
__device__ inline Transform read_transform(const T* at, bool& refused) {
  bool finite = true, plain = true;
  for (int k = 0; k < 4; ++k) {
    const double value = static_cast<double>(at[12 + k]), off = value - (k == 3 ? 1.0 : 0.0);
    finite = finite && is_finite(value);
    plain = plain && off <= kLastRowSlack && off >= -kLastRowSlack;
  }
  refused = finite && !plain;
  Transform m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) m.r[i][j] = static_cast<double>(at[4 * i + j]);
    m.t[i] = finite && plain ? static_cast<double>(at[4 * i + 3]) : __builtin_nan("");
  }
  return m;
}

// What the threads of a block share of one item.
struct Passage {
  Transform to;
  Camera source, destination;
  bool usable;
};

template <typename T>
__device__ inline void read_passage(const Passages<T>& passages, std::size_t item, Passage& out) {
  bool refused;
  const Batch& batch = passages.batch;
  out.to = read_transform(passages.to.data + batch.element(item, passages.to.steps) * 16, refused);
  out.source =
      read_camera(passages.source.data + batch.element(item, passages.source.steps) * passages.source.numbers,
                  passages.source.numbers, refused);
  out.destination = read_camera(passages.destination.data + batch.element(item, passages.destination.steps) *
                                                                passages.destination.numbers,
                                passages.destination.numbers, refused);
  out.usable = is_usable(out.to) && is_usable(out.source) && is_usable(out.destination);
}

// Where a source pixel lands: nowhere without depth, and in no pixel behind the camera.
struct Landing {
  Point3<double> p;
  Pixel<double> at;
  bool there, ahead;
};

__device__ inline Landing land(double depth, double ray_x, double ray_y, const Passage& passage) {
  Landing out;
  out.p = transform(passage.to, Point3<double>{ray_x * depth, ray_y * depth, depth});
  out.at = project(out.p, passage.destination);
  out.there = is_depth(depth);
  out.ahead = out.there && out.p.z > 0.0;
  return out;
}

// Tiles of an image: kColumns by kRows pixels, a thread a column, so that the ray through it is found once.
constexpr int kColumns = 128;
constexpr int kRows = 16;

WMB_HD inline unsigned tiles_of(std::int64_t height, std::int64_t width, int rows = kRows) {
  return static_cast<unsigned>((width + kColumns - 1) / kColumns * ((height + rows - 1) / rows));
}

// The tile of a block: its column for each thread, its first row, and how many there are.
struct Tile {
  std::int64_t column, row;
  int rows;
};

__device__ inline Tile tile_of(std::int64_t height, std::int64_t width) {
  const std::int64_t across = (width + kColumns - 1) / kColumns, number = blockIdx.x;
  const std::int64_t row = number / across * kRows, left = height - row;
  return {number % across * kColumns + threadIdx.x, row, static_cast<int>(left < kRows ? left : kRows)};
}

// The passage of a tile's item, and the rays through its rows.
struct TileRoom {
  Passage passage;
  double ray_y[kRows];
};

template <typename T>
__device__ inline void enter_tile(const Passages<T>& passages, std::size_t item, const Tile& tile,
                                  TileRoom& room) {
  if (threadIdx.x == 0) read_passage(passages, item, room.passage);
  __syncthreads();
  const int t = static_cast<int>(threadIdx.x);
  if (t < tile.rows)
    room.ray_y[t] = ray(static_cast<double>(tile.row + t), room.passage.source.fy, room.passage.source.cy);
  __syncthreads();
}

}  // namespace wmb::cuda
