// SPDX-License-Identifier: Apache-2.0
// The exact median of errors that nobody keeps: a sample brackets it, one pass over the maps counts what lies
// outside the bracket and keeps what lies inside, a few in a hundred, and the median is found among those. So
// the maps are read once. The sample decides the speed alone: where it misled, the pixels are gone through
// again.
#include <cmath>

#include "core/reason.h"
#include "cuda/agreement.h"
#include "cuda/launch.h"
#include "cuda/passage.h"
#include "cuda/reproject_pairs.h"
#include "cuda/select.h"

namespace wmb::cuda {
namespace {

using Count = unsigned long long;

constexpr int kThreads = 512;        // of a block that has an item to itself
constexpr int kSample = 2048;        // pixels
constexpr std::int64_t kAll = 8192;  // up to so many pixels all of them are kept, and none sampled
constexpr std::size_t kWorkspace = std::size_t{1} << 28;  // bytes that items at work at once may take
constexpr int kTile = kColumns * kRows;
constexpr int kBand = 4;  // tiles that a block goes through, one below the other, where there are many
constexpr std::int64_t kMany = 1 << 12;  // tiles
constexpr int kAtOnce = 4;               // pixels of a thread that are looked up at once

// How many pixels have depth; how many of these are co-visible; and where the errors of those lie that are
// not inside.
enum Field { asked, covisible, below, at_low, at_high, kFields };

// What is known of an item between the passes. The first finds its passage, so that the many blocks of the
// second do not have to.
struct Progress {
  Passage passage;
  double low, high;       // the bracket
  Count counts[kFields];  // by Field
  Count inside;           // the bracket
};

inline std::int64_t room_of(std::int64_t pixels) { return pixels <= kAll ? pixels : pixels / 4; }

inline std::size_t bytes_of(std::int64_t pixels, std::size_t size) {
  return sizeof(Progress) + (static_cast<std::size_t>(room_of(pixels)) * size + 7) / 8 * 8;
}

inline std::size_t at_once(std::size_t n_items, std::size_t bytes) {
  const std::size_t fit = kWorkspace / bytes, most = fit < 1 ? 1 : fit < kMostAlongY ? fit : kMostAlongY;
  return n_items < most ? n_items : most;
}

// The workspace: progresses, then the errors that are kept.
template <typename T>
struct Kept {
  Progress* progress;
  T* errors;
  std::int64_t room;  // of an item

  __device__ T* of(std::size_t k) const { return errors + static_cast<std::int64_t>(k) * room; }
};

template <typename T>
struct Views {
  Maps<T> source, destination;
  Passages<T> passages;
  AgreementRule<T> rule;

  __device__ Seen<T> seen(std::size_t item) const {
    return {destination.at(passages.batch, item), destination.height, destination.width, rule};
  }
};

// The error of a pixel by its number; NaN where it is not co-visible.
template <typename T>
__device__ inline double error_at(std::int64_t pixel, std::int64_t width, const T* map,
                                  const Passage& passage, const Seen<T>& to) {
  const double ray_x = ray(static_cast<double>(pixel % width), passage.source.fx, passage.source.cx);
  const double ray_y = ray(static_cast<double>(pixel / width), passage.source.fy, passage.source.cy);
  T error;
  const bool seen = error_of(static_cast<double>(map[pixel]), ray_x, ray_y, passage, to, error);
  return seen ? static_cast<double>(error) : std::nan("");
}

// Brackets the median, a block an item: four standard deviations of the sample's rank to either side.
template <typename T>
__global__ void __launch_bounds__(kThreads) bracket(Views<T> views, std::size_t first, Kept<T> kept) {
  __shared__ Passage passage;
  __shared__ T sample[kSample];
  __shared__ unsigned n;
  __shared__ SelectShared shared;
  const std::size_t item = first + blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    read_passage(views.passages, item, passage);
    n = 0;
  }
  __syncthreads();
  const std::int64_t width = views.source.width, pixels = views.source.height * width;
  double low = -1.0, high = kNoLimit;  // no error is either
  if (pixels > kAll && passage.usable) {
    const T* map = views.source.at(views.passages.batch, item);
    const Seen<T> to = views.seen(item);
    const double step = static_cast<double>(pixels) / kSample;
    for (int k = t; k < kSample; k += kThreads) {
      const unsigned jitter = 0x9e3779b9u * static_cast<unsigned>(k + 1);  // or whole columns would be taken
      const std::int64_t at = static_cast<std::int64_t>((static_cast<double>(k) + jitter * 0x1p-32) * step);
      const double error = error_at(at < pixels ? at : pixels - 1, width, map, passage, to);
      if (error == error) sample[atomicAdd(&n, 1u)] = static_cast<T>(error);
    }
    __syncthreads();
    const double middle = 0.5 * n, wide = 2.0 * std::sqrt(static_cast<double>(n)) + 1.0;
    auto value_at = [&](std::size_t k) { return static_cast<double>(sample[k]); };
    const Extent extent = block_extent<kThreads>(value_at, n, shared);
    if (middle >= wide)
      low = block_neighbours<kThreads>(value_at, n, extent, static_cast<unsigned>(middle - wide), shared).low;
    if (middle + wide + 1.0 < n)
      high = block_neighbours<kThreads>(value_at, n, extent, static_cast<unsigned>(middle + wide) + 1, shared)
                 .low;
  }
  if (t == 0) kept.progress[blockIdx.y] = {passage, low, high, {}, 0};
}

// What the threads of a band share in the sweep.
template <typename T>
struct SweepRoom {
  Passage passage;
  double ray_y[kBand * kRows];
  Terms rows[kBand * kRows];
  T low, high;      // the bracket
  T errors[kTile];  // of a tile, inside it
  unsigned n, counts[kFields];
  Count base;
};

// What a thread counts.
struct Tally {
  unsigned counts[kFields];

  template <typename T>
  __device__ void take(T error, SweepRoom<T>& room) {
    const T low = room.low, high = room.high;
    ++counts[covisible];
    if (error > low && error < high) {
      room.errors[atomicAdd(&room.n, 1u)] = error;
      return;
    }
    if (error < low) ++counts[below];
    if (error == low) ++counts[at_low];
    if (error == high && low < high) ++counts[at_high];
  }
};

// One thread's column of a tile, in float32 as far as that goes: pixels that it leaves open are gone through
// after.
__device__ inline void go_down(const float* from, unsigned width, int rows, int first, double ray_x,
                               const Terms& column, const SoonPassage& passage, const CertainGate& gate,
                               const Seen<float>& to, SweepRoom<float>& room, Tally& tally) {
  for (int begin = 0; begin < rows; begin += kAtOnce) {
    float depth[kAtOnce], seen[kAtOnce];
    double z[kAtOnce];
    int place[kAtOnce];
    unsigned open = 0;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      depth[k] = begin + k < rows ? from[static_cast<unsigned>(begin + k) * width] : 0.0f;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int row = first + begin + k;  // one of the tile's, if not of the image's
      place[k] = place_of(depth[k], ray_x, room.ray_y[row], column, room.rows[row], passage, z[k]);
      const bool there = depth[k] > 0.0f && depth[k] < static_cast<float>(kNoLimit);
      if (there) ++tally.counts[asked];
      place[k] = there ? place[k] : kNowhere;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) seen[k] = place[k] >= 0 ? to.map[place[k]] : 0.0f;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      float error;
      const Agrees agrees = compare(z[k], seen[k], gate, error);
      if (agrees == Agrees::yes) tally.take(error, room);
      if (agrees == Agrees::unsure || place[k] == kUnsure) open |= 1u << k;
    }
#pragma unroll 1
    for (int k = begin; open != 0; ++k, open >>= 1) {
      float error;
      if ((open & 1u) != 0 && error_of(static_cast<double>(from[static_cast<unsigned>(k) * width]), ray_x,
                                       room.ray_y[first + k], room.passage, to, error))
        tally.take(error, room);
    }
  }
}

template <typename T>
__device__ inline void go_down(const T* from, unsigned width, int rows, int first, double ray_x,
                               const Seen<T>& to, SweepRoom<T>& room, Tally& tally) {
  for (int r = 0; r < rows; ++r) {
    const double depth = static_cast<double>(from[static_cast<unsigned>(r) * width]);
    if (!is_depth(depth)) continue;
    tally.counts[asked] += 1;
    T error;
    if (error_of(depth, ray_x, room.ray_y[first + r], room.passage, to, error)) tally.take(error, room);
  }
}

// Moves a tile's errors to where the item's are kept, as far as there is room.
template <typename T>
__device__ inline void put_away(SweepRoom<T>& room, Count& inside, T* kept, std::int64_t room_of_kept) {
  const unsigned t = threadIdx.x;
  __syncthreads();
  if (t == 0 && room.n > 0) room.base = atomicAdd(&inside, Count{room.n});
  __syncthreads();
  for (unsigned k = t; k < room.n; k += kColumns)
    if (room.base + k < static_cast<Count>(room_of_kept)) kept[room.base + k] = room.errors[k];
  __syncthreads();
  if (t == 0) room.n = 0;
  __syncthreads();
}

template <bool kSoon, typename T>
__global__ void __launch_bounds__(kColumns)
    sweep(Views<T> views, std::size_t first, Kept<T> kept, int tiles) {
  __shared__ SweepRoom<T> room;
  const std::size_t item = first + blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  Progress& progress = kept.progress[blockIdx.y];
  if (t < kFields) room.counts[t] = 0;
  if (t == 0) {
    room.passage = progress.passage;
    room.low = static_cast<T>(progress.low);
    room.high = static_cast<T>(progress.high);
    room.n = 0;
  }
  __syncthreads();
  if (!room.passage.usable) return;  // all threads
  const std::int64_t height = views.source.height, width = views.source.width;
  const std::int64_t across = (width + kColumns - 1) / kColumns, top = blockIdx.x / across * tiles * kRows;
  const std::int64_t column = blockIdx.x % across * kColumns + t, left = height - top;
  const int rows = static_cast<int>(left < tiles * kRows ? left : tiles * kRows);
  const Camera& camera = room.passage.source;
  const double ray_x = ray(static_cast<double>(column), camera.fx, camera.cx);
  if (t < tiles * kRows) {
    room.ray_y[t] = ray(static_cast<double>(top + t), camera.fy, camera.cy);
    if (kSoon) room.rows[t] = terms_of(room.passage, 0.0, room.ray_y[t], 1.0, 0.0);
  }
  __syncthreads();
  const Seen<T> to = views.seen(item);
  const T* from = views.source.at(views.passages.batch, item) + top * width + column;
  Tally tally{};
  Terms of_column;
  SoonPassage passage;
  CertainGate gate;
  if constexpr (kSoon) {
    of_column = terms_of(room.passage, ray_x, 0.0, 0.0, 0.0);
    passage = soon(room.passage, to);
    gate = certain_gate(to.rule.lo, to.rule.hi);
  }
  for (int begin = 0; begin < rows; begin += kRows) {
    const int here = column >= width ? 0 : rows - begin < kRows ? rows - begin : kRows;
    const T* tile = from + begin * width;
    const unsigned step = static_cast<unsigned>(width);
    if constexpr (kSoon)
      go_down(tile, step, here, begin, ray_x, of_column, passage, gate, to, room, tally);
    else
      go_down(tile, step, here, begin, ray_x, to, room, tally);
    put_away(room, progress.inside, kept.of(blockIdx.y), kept.room);
  }
#pragma unroll
  for (int k = 0; k < kFields; ++k) {
    for (unsigned by = 16; by > 0; by /= 2)
      tally.counts[k] += __shfl_xor_sync(0xffffffffu, tally.counts[k], by);
    if (t % 32 == 0) atomicAdd(&room.counts[k], tally.counts[k]);
  }
  __syncthreads();
  if (t < kFields && room.counts[t] > 0) atomicAdd(&progress.counts[t], Count{room.counts[t]});
}

// The two middle errors of all co-visible pixels, which may be one.
template <typename T>
__device__ inline Neighbours middle_errors(const Views<T>& views, std::size_t item, const Progress& progress,
                                           const T* kept, std::int64_t room, SelectShared& shared) {
  const Count n = progress.counts[covisible], one_rank = (n - 1) / 2, other = n / 2;
  const Count begin = progress.counts[below] + progress.counts[at_low], end = begin + progress.inside;
  if (one_rank < progress.counts[below] || other >= end + progress.counts[at_high] ||
      progress.inside > static_cast<Count>(room)) {
    const T* map = views.source.at(views.passages.batch, item);
    const Seen<T> to = views.seen(item);
    const std::int64_t width = views.source.width;
    auto value_at = [&](std::size_t k) {
      return error_at(static_cast<std::int64_t>(k), width, map, progress.passage, to);
    };
    const std::size_t pixels = static_cast<std::size_t>(views.source.height * width);
    const Extent extent = block_extent<kThreads>(value_at, pixels, shared);
    return block_neighbours<kThreads>(value_at, pixels, extent, static_cast<unsigned>(one_rank), shared);
  }
  if (other < begin) return {progress.low, progress.low};
  if (one_rank >= end) return {progress.high, progress.high};
  if (progress.inside == 0) return {progress.low, progress.high};
  auto value_at = [&](std::size_t k) { return static_cast<double>(kept[k]); };
  const Extent extent = block_extent<kThreads>(value_at, progress.inside, shared);
  const unsigned rank = static_cast<unsigned>(one_rank < begin ? 0 : one_rank - begin);
  const Neighbours inside = block_neighbours<kThreads>(value_at, progress.inside, extent, rank, shared);
  if (one_rank < begin) return {progress.low, inside.low};
  return {inside.low, other < end ? inside.high : progress.high};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    finish(Views<T> views, std::size_t first, Kept<T> kept, AgreementOut<T> out) {
  __shared__ SelectShared shared;
  const std::size_t item = first + blockIdx.y;
  const Progress& progress = kept.progress[blockIdx.y];
  const Count n = progress.counts[covisible];
  double median = std::nan("");
  if (n > 0) {
    const Neighbours at = middle_errors(views, item, progress, kept.of(blockIdx.y), kept.room, shared);
    median = n % 2 != 0 ? at.low : (at.low + at.high) / 2;
  }
  if (threadIdx.x != 0) return;
  const bool any = progress.counts[asked] > 0;
  out.median[item] = static_cast<T>(median);
  out.fraction[item] = static_cast<T>(
      any ? static_cast<double>(n) / static_cast<double>(progress.counts[asked]) : std::nan(""));
  out.n[item] = static_cast<std::int64_t>(n);
  const Reason unseen = any ? Reason::no_covisibility : Reason::no_valid_depth;
  write_reason(!progress.passage.usable ? Reason::camera_not_usable
               : n > 0                  ? Reason::ok
                                        : unseen,
               item, out.code, out.status);
}

}  // namespace

std::size_t depth_agreement_workspace(std::size_t n_items, std::int64_t pixels, std::size_t size) {
  const std::size_t bytes = bytes_of(pixels, size);
  return at_once(n_items, bytes) * bytes / 8;
}

template <typename T>
int depth_agreement(const Maps<T>& source, const Maps<T>& destination, const Passages<T>& passages,
                    const AgreementRule<T>& rule, AgreementOut<T> out, void* workspace, cudaStream_t stream) {
  const std::int64_t pixels = source.height * source.width;
  const std::size_t n_items = passages.batch.n, most = at_once(n_items, bytes_of(pixels, sizeof(T)));
  const Views<T> views{source, destination, passages, rule};
  Progress* progress = static_cast<Progress*>(workspace);
  const Kept<T> kept{progress, reinterpret_cast<T*>(progress + most), room_of(pixels)};
  const bool soon = sizeof(T) == sizeof(float) && !rule.bilinear && destination.height < kLargest &&
                    destination.width < kLargest;
  return in_batches(
      n_items,
      [&](std::size_t first, unsigned n) {
        const std::int64_t tiles = tiles_of(source.height, source.width);
        const int band = tiles * n >= kMany ? kBand : 1;
        const dim3 bands(tiles_of(source.height, source.width, band * kRows), n), items(1, n);
        int error = launch(bracket<T>, items, dim3(kThreads), stream, views, first, kept);
        if (error != 0) return error;
        auto go = [&](auto* kernel) {
          return launch(kernel, bands, dim3(kColumns), stream, views, first, kept, band);
        };
        if constexpr (sizeof(T) == sizeof(float))
          error = go(soon ? sweep<true, T> : sweep<false, T>);
        else
          error = go(sweep<false, T>);
        return error != 0 ? error : launch(finish<T>, items, dim3(kThreads), stream, views, first, kept, out);
      },
      most);
}

template int depth_agreement(const Maps<float>&, const Maps<float>&, const Passages<float>&,
                             const AgreementRule<float>&, AgreementOut<float>, void*, cudaStream_t);
template int depth_agreement(const Maps<double>&, const Maps<double>&, const Passages<double>&,
                             const AgreementRule<double>&, AgreementOut<double>, void*, cudaStream_t);

}  // namespace wmb::cuda
