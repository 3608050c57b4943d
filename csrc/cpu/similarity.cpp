// SPDX-License-Identifier: Apache-2.0
#include "cpu/similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace wmb {
namespace {

constexpr std::int64_t kColumnsAtOnce = 256;

// Whether two vectors' cosine, moved to 0..1 and back, is below the floor: rounding decides those at it.
template <typename T>
bool is_below(const T* x, const T* y, std::int64_t dim, double floor) {
  double dot = 0, of_x = 0, of_y = 0;
  for (std::int64_t k = 0; k < dim; ++k) {
    const double p = x[k], q = y[k];
    dot += p * q;
    of_x += p * p;
    of_y += q * q;
  }
  const double lengths = std::sqrt(of_x) * std::sqrt(of_y);
  return lengths > 0 && 2.0 * ((dot / lengths + 1.0) / 2.0) - 1.0 < floor;
}

}  // namespace

template <typename T>
Comparison<T>::Comparison(const Things<T>& a, std::vector<std::int64_t> rows, const Things<T>& b,
                          const SimilarityRule& rule)
    : a_(a), b_(b), rule_(rule), rows_{a.vectors, a.dim, std::move(rows), {}} {
  const std::int64_t n = rows_.size();
  rows_.direction.assign(static_cast<std::size_t>(n), kNotFoundYet);
  Tiles<T> tiles(a.dim, 0, Metric::cosine);
  block_rows_ = tiles.block_rows(n);
  for (std::int64_t r = 0; r < n && a.dim > 0; r += block_rows_)
    blocks_.push_back(tiles.pack_block(rows_, r, std::min(block_rows_, n - r)));
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t i = row(r);
    lengths_.push_back(length_of(rows_.at(r), a.lengths[i], rows_.direction[r]));
    bool any = false;
    for (std::int64_t k = 0; k < a.n_attributes; ++k) any |= a.text[k * a.n + i] != kAbsent;
    has_attributes_.push_back(any);
  }
}

template <typename T>
std::int32_t Comparison<T>::length_of(const T* vector, std::int64_t length,
                                      const Direction& direction) const {
  if (direction.factor > 0) {
    const bool is_short = direction.shift * direction.factor * rule_.shortest >= 1;
    return is_short ? kNone : static_cast<std::int32_t>(length);
  }
  const bool finite = std::all_of(vector, vector + a_.dim, [](T x) { return std::isfinite(x); });
  return finite ? kNone : kBroken;
}

template <typename T>
typename Comparison<T>::Panel Comparison<T>::panel(std::int64_t first, std::int64_t n) const {
  const std::int64_t width = kernels<T>().cols, height = kernels<T>().rows;
  const std::int64_t stride = (n + width - 1) / width * width;
  Panel made{first, n, stride, Scratch<T>((n_rows() + height) * stride), {}};
  RowSet<T> columns = every_row(b_.vectors + first * b_.dim, n, b_.dim);
  Tiles<T> strip(b_.dim, width, Metric::cosine);
  for (std::int64_t j = 0; j < n && b_.dim > 0; j += width) {
    strip.pack_columns(columns, j, width, false);
    for (std::int64_t r = 0; r < n_rows(); r += block_rows_)
      strip.fill(blocks_[r / block_rows_], std::min(block_rows_, n_rows() - r), 0,
                 made.cosines.data() + r * stride + j, stride);
  }
  made.lengths.resize(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    made.lengths[j] = length_of(columns.at(j), b_.lengths[first + j], columns.direction[j]);
  return made;
}

template <typename T>
T Comparison<T>::cosine(std::int64_t r, const Panel& panel, std::int64_t j) const {
  const bool comparable = lengths_[r] > 0 && lengths_[r] == panel.lengths[j];
  return comparable ? panel.cosines.data()[r * panel.stride + j] : std::numeric_limits<T>::quiet_NaN();
}

// What pair (i, j) shares of the attributes that both have.
template <typename T>
double Comparison<T>::likeness(std::int64_t i, std::int64_t j, bool& both) const {
  double total = 0, count = 0;
  for (std::int64_t k = 0; k < a_.n_attributes; ++k) {
    const std::int64_t at = k * a_.n + i, to = k * b_.n + j;
    if (a_.text[at] == kAbsent || b_.text[to] == kAbsent) continue;
    total += attribute_likeness(a_.text[at], b_.text[to], a_.number[at], b_.number[to]);
    count += 1;
  }
  both = count > 0;
  return both ? total / count : 0.0;
}

// One pair, whatever it has.
template <typename T>
double Comparison<T>::score(std::int64_t i, std::int64_t j, T cosine, bool comparable) const {
  bool both = false;
  const double alike = likeness(i, j, both);
  const T floor = static_cast<T>(rule_.floor), near = static_cast<T>(rule_.near);
  const bool below =
      comparable && (std::abs(cosine - floor) < near
                         ? is_below(a_.vectors + i * a_.dim, b_.vectors + j * b_.dim, a_.dim, rule_.floor)
                         : cosine < floor);
  if (comparable ? below : !both) return 0.0;
  double total = comparable ? (static_cast<double>(cosine) + 1.0) * (rule_.vector / 2) : 0.0;
  total += rule_.attribute * alike;
  total += category_part(a_.categories[i], b_.categories[j], rule_);
  const double weight = (comparable ? rule_.vector : 0.0) + (both ? rule_.attribute : 0.0);
  total /= weight + rule_.category;
  return total < 1.0 ? total : 1.0;
}

template <typename T>
void Comparison<T>::scores(std::int64_t r, const Panel& panel, std::int64_t from, std::int64_t to,
                           double* out) const {
  const std::int64_t i = row(r), n = to - from, first = panel.first + from;
  const std::int32_t mine = lengths_[r], *theirs = panel.lengths.data() + from;
  const T *cosines = panel.cosines.data() + r * panel.stride + from, floor = static_cast<T>(rule_.floor),
          near = static_cast<T>(rule_.near);
  const bool is_plain = mine > 0 && !has_attributes_[r];
  std::int64_t n_special = 0;
  if (is_plain) {
    n_special = plain_scores_kernel<T>()({n, cosines, b_.categories + first, a_.categories[i]}, rule_, out);
    for (std::int64_t j = 0; j < n; ++j) n_special += theirs[j] != mine;
  }
  for (std::int64_t j = 0; (!is_plain || n_special) && j < n; ++j) {
    const bool comparable = mine > 0 && theirs[j] == mine;
    if (is_plain && comparable && !(std::abs(cosines[j] - floor) < near)) continue;
    const bool is_broken = mine == kBroken || theirs[j] == kBroken;
    out[j] = is_broken ? 0.0 : score(i, first + j, cosines[j], comparable);
  }
}

template <typename T>
void mixed_similarity(const Things<T>& a, const Things<T>& b, const SimilarityRule& rule, T* cosines,
                      double* scores) {
  FloatEnvironment environment;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(a.n));
  std::iota(rows.begin(), rows.end(), 0);
  const Comparison<T> all(a, std::move(rows), b, rule);
  auto body = [&](std::size_t chunk) {
    const std::int64_t first = static_cast<std::int64_t>(chunk) * kColumnsAtOnce;
    const std::int64_t n = std::min(kColumnsAtOnce, b.n - first);
    const auto panel = all.panel(first, n);
    for (std::int64_t i = 0; i < a.n; ++i) {
      all.scores(i, panel, 0, n, scores + i * b.n + first);
      for (std::int64_t j = 0; j < n; ++j) cosines[i * b.n + first + j] = all.cosine(i, panel, j);
    }
  };
  for_chunks(chunk_count(static_cast<std::size_t>(b.n), kColumnsAtOnce), body);
}

template class Comparison<float>;
template class Comparison<double>;
template void mixed_similarity(const Things<float>&, const Things<float>&, const SimilarityRule&, float*,
                               double*);
template void mixed_similarity(const Things<double>&, const Things<double>&, const SimilarityRule&, double*,
                               double*);

}  // namespace wmb
