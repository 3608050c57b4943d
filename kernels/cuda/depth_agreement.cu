// SPDX-License-Identifier: Apache-2.0
// The exact median of errors that nobody keeps: a sample brackets it, one pass over the maps counts what lies
// outside the bracket and keeps what lies inside, a few in a hundred, and the median is found among those. So
// the maps are read once. The sample decides the speed alone: where it misled, the pixels are gone through
// again.
#include <cmath>

#include "core/reason.h"
#include "cuda/agreement.h"
#include "cuda/launch.h"
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

// What is known of an item between the passes.
struct Progress {
  double low, high;  // the bracket
  Count asked, covisible, below, at_low, at_high, inside;
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
  if (t == 0) kept.progress[blockIdx.y] = {low, high, 0, 0, 0, 0, 0, 0};
}

// What the threads of a tile share in the sweep.
template <typename T>
struct SweepRoom {
  TileRoom tile;
  Terms rows[kRows], shift;
  T errors[kTile];
  Count tally, base;
  unsigned n;
};

// Counts of a tile, side by side in one number: each is at most kTile.
constexpr int kField = 12;
static_assert(kTile < 1 << kField && 5 * kField <= 64, "five counts fit");
enum Field { asked, covisible, below, at_low, at_high };

__device__ inline Count one(Field field) { return Count(1) << (kField * field); }

template <bool kSoon, typename T>
__global__ void __launch_bounds__(kColumns) sweep(Views<T> views, std::size_t first, Kept<T> kept) {
  __shared__ SweepRoom<T> room;
  const std::size_t item = first + blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t width = views.source.width;
  const Tile tile = tile_of(views.source.height, width);
  if (t == 0) room.tally = room.n = 0;
  enter_tile(views.passages, item, tile, room.tile);
  const Passage& passage = room.tile.passage;
  if (!passage.usable) return;  // all threads
  Progress& progress = kept.progress[blockIdx.y];
  const T low = static_cast<T>(progress.low), high = static_cast<T>(progress.high);
  const double ray_x = ray(static_cast<double>(tile.column), passage.source.fx, passage.source.cx);
  const Seen<T> to = views.seen(item);
  Terms column;
  CertainGate gate;
  if constexpr (kSoon) {
    if (t < tile.rows) room.rows[t] = terms_of(passage, 0.0, room.tile.ray_y[t], 1.0, 0.0);
    if (t == 0) room.shift = terms_of(passage, 0.0, 0.0, 0.0, 1.0);
    column = terms_of(passage, ray_x, 0.0, 0.0, 0.0);
    gate = certain_gate(to.rule.lo, to.rule.hi);
    __syncthreads();
  }
  const T* from = views.source.at(views.passages.batch, item) + tile.row * width + tile.column;
  const int rows = tile.column < width ? tile.rows : 0;
  Count tally = 0;
  for (int r = 0; r < rows; ++r) {
    const T depth = from[r * width];
    if (!is_depth(static_cast<double>(depth))) continue;
    tally += one(asked);
    T error;
    bool seen;
    if constexpr (kSoon)
      seen = error_of(depth, ray_x, room.tile.ray_y[r], column, room.rows[r], room.shift, gate, passage, to,
                      error);
    else
      seen = error_of(static_cast<double>(depth), ray_x, room.tile.ray_y[r], passage, to, error);
    if (!seen) continue;
    tally += one(covisible);
    if (error <= low) {
      tally += one(error < low ? below : at_low);
    } else if (error < high) {
      room.errors[atomicAdd(&room.n, 1u)] = error;
    } else if (error == high) {
      tally += one(at_high);
    }
  }
  for (unsigned by = 16; by > 0; by /= 2) tally += __shfl_xor_sync(0xffffffffu, tally, by);
  if (t % 32 == 0) atomicAdd(&room.tally, tally);
  __syncthreads();
  Count* counts[5] = {&progress.asked, &progress.covisible, &progress.below, &progress.at_low,
                      &progress.at_high};
  if (t == 0) {
    for (int k = 0; k < 5; ++k) {
      const Count count = room.tally >> (kField * k) & ((1 << kField) - 1);
      if (count > 0) atomicAdd(counts[k], count);
    }
    room.base = room.n > 0 ? atomicAdd(&progress.inside, Count{room.n}) : 0;
  }
  __syncthreads();
  T* errors = kept.of(blockIdx.y);
  for (unsigned k = t; k < room.n; k += kColumns)
    if (room.base + k < static_cast<Count>(kept.room)) errors[room.base + k] = room.errors[k];
}

// The two middle errors of all co-visible pixels, which may be one.
template <typename T>
__device__ inline Neighbours middle_errors(const Views<T>& views, std::size_t item, const Passage& passage,
                                           const Progress& progress, const T* kept, std::int64_t room,
                                           SelectShared& shared) {
  const Count n = progress.covisible, one_rank = (n - 1) / 2, other = n / 2;
  const Count begin = progress.below + progress.at_low, end = begin + progress.inside;
  if (one_rank < progress.below || other >= end + progress.at_high ||
      progress.inside > static_cast<Count>(room)) {
    const T* map = views.source.at(views.passages.batch, item);
    const Seen<T> to = views.seen(item);
    const std::int64_t width = views.source.width;
    auto value_at = [&](std::size_t k) {
      return error_at(static_cast<std::int64_t>(k), width, map, passage, to);
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
  __shared__ Passage passage;
  __shared__ SelectShared shared;
  const std::size_t item = first + blockIdx.y;
  if (threadIdx.x == 0) read_passage(views.passages, item, passage);
  __syncthreads();
  const Progress& progress = kept.progress[blockIdx.y];
  const Count n = progress.covisible;
  double median = std::nan("");
  if (n > 0) {
    const Neighbours at =
        middle_errors(views, item, passage, progress, kept.of(blockIdx.y), kept.room, shared);
    median = n % 2 != 0 ? at.low : (at.low + at.high) / 2;
  }
  if (threadIdx.x != 0) return;
  const bool any = progress.asked > 0;
  out.median[item] = static_cast<T>(median);
  out.fraction[item] =
      static_cast<T>(any ? static_cast<double>(n) / static_cast<double>(progress.asked) : std::nan(""));
  out.n[item] = static_cast<std::int64_t>(n);
  const Reason unseen = any ? Reason::no_covisibility : Reason::no_valid_depth;
  write_reason(!passage.usable ? Reason::camera_not_usable
               : n > 0         ? Reason::ok
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
        const dim3 tiles(tiles_of(source.height, source.width), n), items(1, n);
        int error = launch(bracket<T>, items, dim3(kThreads), stream, views, first, kept);
        if (error != 0) return error;
        if constexpr (sizeof(T) == sizeof(float))
          error = launch(soon ? sweep<true, T> : sweep<false, T>, tiles, dim3(kColumns), stream, views, first,
                         kept);
        else
          error = launch(sweep<false, T>, tiles, dim3(kColumns), stream, views, first, kept);
        return error != 0 ? error : launch(finish<T>, items, dim3(kThreads), stream, views, first, kept, out);
      },
      most);
}

template int depth_agreement(const Maps<float>&, const Maps<float>&, const Passages<float>&,
                             const AgreementRule<float>&, AgreementOut<float>, void*, cudaStream_t);
template int depth_agreement(const Maps<double>&, const Maps<double>&, const Passages<double>&,
                             const AgreementRule<double>&, AgreementOut<double>, void*, cudaStream_t);

}  // namespace wmb::cuda
