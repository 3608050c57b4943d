// SPDX-License-Identifier: Apache-2.0
// What pairs of views agree on: depth_agreement and reprojection_error.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/reason.h"
#include "cpu/parallel.h"
#include "cpu/rays.h"
#include "cpu/reproject.h"
#include "cpu/select.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

using isa::DestinationView;
using isa::Gate;
using isa::Tally;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kRowsAtOnce = 32;

// Errors are from 0 on; what is not co-visible is infinite.
template <typename T>
constexpr T kBelowErrors = T(-1);

std::uint8_t code_of(Reason reason) { return static_cast<std::uint8_t>(reason); }

// Items side by side where there are enough of them for all threads, else one after another, each on all
// threads.
template <typename Body>
void run_over(std::int64_t n_items, Body&& body) {
  bool side_by_side = n_items >= num_threads();
  run_each(side_by_side, n_items, [&](std::size_t i) { body(static_cast<std::int64_t>(i), !side_by_side); });
}

template <typename T>
void agree_on_item(const Maps<T>& source, const Maps<T>& destination, const Passages& passages, Gate<T> gate,
                   bool bilinear, std::int64_t item, bool parallel, const AgreementOut& out) {
  out.median[item] = kNone;
  out.asked[item] = out.covisible[item] = 0;
  out.code[item] = code_of(Reason::camera_not_usable);
  if (!passages.usable(item)) return;
  std::int64_t n_chunks = static_cast<std::int64_t>(chunk_count(source.height, kRowsAtOnce));
  Rays rays(passages.source[item], source.height, source.width);
  DestinationView<T> to{passages.to[item], passages.destination[item], destination.height,
                        destination.width, destination.at(item),       nullptr};
  Scratch<T> errors(static_cast<std::size_t>(source.height * source.width));
  std::vector<Tally> tallies(n_chunks);
  const isa::Reproject<T>& kernels = reproject_kernels<T>();
  auto row_of_errors = bilinear ? kernels.agree_bilinear : kernels.agree_nearest;
  std::vector<T> longer;  // by the one element that is read beyond a map of one column
  if (bilinear && destination.width == 1) {
    longer.assign(to.depth, to.depth + destination.height);
    longer.push_back(T(0));
    to.depth = longer.data();
  }
  run_each(parallel, n_chunks, [&](std::size_t chunk) {
    std::int64_t first = static_cast<std::int64_t>(chunk) * kRowsAtOnce;
    for (std::int64_t row = first; row < std::min(first + kRowsAtOnce, source.height); ++row)
      row_of_errors(rays.row(source.at(item), row), to, gate, errors.data() + row * source.width,
                    tallies[chunk]);
  });
  for (const Tally& tally : tallies) {
    out.asked[item] += tally.asked;
    out.covisible[item] += tally.covisible;
  }
  out.code[item] =
      code_of(out.asked[item] == 0 ? Reason::no_valid_depth
                                   : (out.covisible[item] == 0 ? Reason::no_covisibility : Reason::ok));
  if (out.covisible[item] > 0)
    out.median[item] =
        quantile<T>({{errors.data(), source.height * source.width}}, kBelowErrors<T>, 0.5, parallel).middle();
}

// The points of one frame's grid that have depth and enough confidence, in its camera's coordinates.
struct GridPoints {
  std::vector<double> x, y, z;

  template <typename T>
  void take(const Clips<T>& clips, std::int64_t frame, std::int64_t grid, double threshold) {
    std::int64_t map = frame * clips.height * clips.width;
    Rays rays(clips.cameras[frame], clips.height, clips.width);
    for (std::int64_t row = 0; row < clips.height; row += grid)
      for (std::int64_t column = 0; column < clips.width; column += grid) {
        std::int64_t at = map + row * clips.width + column;
        double depth = clips.depth[at];
        if (!is_depth(depth) || (clips.confidence && !(clips.confidence[at] >= threshold))) continue;
        x.push_back(rays.x[column] * depth);
        y.push_back(rays.y[row] * depth);
        z.push_back(depth);
      }
  }
  isa::SourcePoints view() const {
    return {static_cast<std::int64_t>(x.size()), x.data(), y.data(), z.data()};
  }
};

// What the points of all other frames give in one.
template <typename T>
struct FrameErrors {
  std::unique_ptr<Scratch<T>> errors;  // of the pairs that count, one after another
  std::int64_t n = 0;
  double total = 0;
  std::int64_t n_pairs = 0, inside = 0, covisible = 0;
};

// A clip whose median depth and confidence threshold are known. Pairs are taken by destination, because the
// points of a frame are few and close together in memory, and what they look up is neither.
template <typename T>
struct Clip {
  const Clips<T>& clips;
  const ErrorRule& rule;
  std::int64_t first;  // frame of the batch
  double scale, threshold;
  std::vector<std::uint8_t> usable;
  std::vector<GridPoints> points;

  void take_points(std::int64_t i) {
    if (usable[i]) points[i].take(clips, first + i, rule.grid, threshold);
  }

  FrameErrors<T> into(std::int64_t j, double* per_pair) const {
    FrameErrors<T> out;
    if (!usable[j]) return out;
    std::size_t most = 0, all = 0;
    for (const GridPoints& from : points) {
      most = std::max(most, from.x.size());
      all += from.x.size();
    }
    Scratch<T> found(most);
    out.errors = std::make_unique<Scratch<T>>(all + 8);
    for (std::int64_t i = 0; i < clips.frames; ++i) {
      if (j == i || !usable[i]) continue;
      Tally tally = errors_of(i, j, found.data());
      if (tally.inside < rule.min_points) continue;
      out.inside += tally.inside;
      out.covisible += tally.covisible;
      if (tally.covisible < rule.min_points) continue;
      T* kept = out.errors->data() + out.n;
      isa::Ranks ranks{0, 0, 0, 0, 0};
      select_kernels<T>().between(points[i].view().n, found.data(), kBelowErrors<T>, kBelowErrors<T>,
                                  std::numeric_limits<T>::infinity(), kept, ranks);
      out.n += ranks.inside;
      out.total += tally.error;
      out.n_pairs += 1;
      per_pair[i * clips.frames + j] =
          quantile<T>({{kept, ranks.inside}}, kBelowErrors<T>, 0.5, false).middle() / scale;
    }
    return out;
  }

 private:
  Tally errors_of(std::int64_t i, std::int64_t j, T* found) const {
    std::int64_t map = (first + j) * clips.height * clips.width;
    const Transform &here = clips.to_world[first + i], &there = clips.to_world[first + j];
    DestinationView<T> to{compose(inverse(there), here),
                          clips.cameras[first + j],
                          clips.height,
                          clips.width,
                          clips.depth + map,
                          clips.confidence ? clips.confidence + map : nullptr};
    Gate<T> gate{static_cast<T>(rule.lo), static_cast<T>(rule.hi), threshold};
    Tally tally;
    if (rule.pixels)
      reproject_kernels<T>().round_trip(points[i].view(), to, compose(inverse(here), there),
                                        clips.cameras[first + i], gate, found, tally);
    else
      reproject_kernels<T>().distance(points[i].view(), to, gate, found, tally);
    return tally;
  }
};

template <typename T>
void error_of_item(const Clips<T>& clips, const ErrorRule& rule, std::int64_t item, bool parallel,
                   const ErrorOut& out) {
  std::int64_t k = clips.frames, pixels = k * clips.height * clips.width;
  out.median[item] = out.mean[item] = kNone;
  out.n_pairs[item] = out.inside[item] = out.covisible[item] = 0;
  std::fill_n(out.per_pair + item * k * k, k * k, kNone);

  Clip<T> clip{clips, rule, item * k, 1.0, 0.0, std::vector<std::uint8_t>(k), std::vector<GridPoints>(k)};
  for (std::int64_t i = 0; i < k; ++i) {
    const Transform& to_world = clips.to_world[clip.first + i];
    clip.usable[i] =
        is_usable(clips.cameras[clip.first + i]) && is_usable(to_world) && is_usable(inverse(to_world));
  }
  out.code[item] = code_of(Reason::camera_not_usable);
  if (k > 0 && std::none_of(clip.usable.begin(), clip.usable.end(), [](std::uint8_t u) { return u; })) return;
  out.code[item] = code_of(Reason::no_valid_depth);
  clip.scale = quantile<T>({{clips.depth + item * pixels, pixels}}, T(0), 0.5, parallel).middle();
  if (!is_finite(clip.scale)) return;
  if (rule.pixels) clip.scale = 1.0;
  if (clips.confidence) {
    out.code[item] = code_of(Reason::no_valid_confidence);
    clip.threshold = quantile<T>({{clips.confidence + item * pixels, pixels}},
                                 -std::numeric_limits<T>::infinity(), rule.confidence_quantile, parallel)
                         .linear();
    if (!is_finite(clip.threshold)) return;
  }

  std::vector<FrameErrors<T>> frames(k);
  run_each(parallel, k, [&](std::size_t i) { clip.take_points(static_cast<std::int64_t>(i)); });
  run_each(parallel, k, [&](std::size_t j) {
    frames[j] = clip.into(static_cast<std::int64_t>(j), out.per_pair + item * k * k);
  });
  std::vector<Span<T>> all;
  double total = 0;
  for (const FrameErrors<T>& frame : frames) {
    if (frame.n > 0) all.push_back({frame.errors->data(), frame.n});
    total += frame.total;
    out.n_pairs[item] += frame.n_pairs;
    out.inside[item] += frame.inside;
    out.covisible[item] += frame.covisible;
  }
  Quantile middle = quantile<T>(all, kBelowErrors<T>, 0.5, parallel);
  out.median[item] = middle.middle() / clip.scale;
  out.mean[item] = middle.n > 0 ? total / static_cast<double>(middle.n) / clip.scale : kNone;
  out.code[item] = code_of(middle.n > 0 ? Reason::ok : Reason::no_covisibility);
}

}  // namespace

template <typename T>
void depth_agreement(const Maps<T>& source, const Maps<T>& destination, const Passages& passages, T lo, T hi,
                     bool bilinear, const AgreementOut& out) {
  run_over(passages.n, [&](std::int64_t item, bool parallel) {
    agree_on_item(source, destination, passages, {lo, hi, 0.0}, bilinear, item, parallel, out);
  });
}

template <typename T>
void reprojection_error(const Clips<T>& clips, const ErrorRule& rule, const ErrorOut& out) {
  run_over(clips.n,
           [&](std::int64_t item, bool parallel) { error_of_item(clips, rule, item, parallel, out); });
}

template void depth_agreement(const Maps<float>&, const Maps<float>&, const Passages&, float, float, bool,
                              const AgreementOut&);
template void depth_agreement(const Maps<double>&, const Maps<double>&, const Passages&, double, double, bool,
                              const AgreementOut&);
template void reprojection_error(const Clips<float>&, const ErrorRule&, const ErrorOut&);
template void reprojection_error(const Clips<double>&, const ErrorRule&, const ErrorOut&);

}  // namespace wmb
