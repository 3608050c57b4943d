// SPDX-License-Identifier: Apache-2.0
#include "cpu/sieve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace wmb {
namespace {

constexpr std::int64_t kMostQueries = 12;
constexpr std::int64_t kMostDim = 1 << 16;
constexpr std::int64_t kRest = 7;  // blocks that pass unseen after one that was looked at in vain

// How far a score may lie above the rough dot product over the rough norm, A / N.
//
// Let u be half the distance of 1 to the next number, n the dimension, and g(m) = m u / (1 - m u), the most
// that m roundings do to a product. q is the normalised query as it is scored, x the row, and y = x / |x|.
//   A: every product is rounded at most n times, so |A - q.x| <= g(n) |q| |x|.
//   N: so are the squares; with the root's rounding, N = |x| (1 + e) and |e| <= 0.51 g(n) + u.
//   The score is made of y', which is y rounded: within 1.01 u of each element in float32; in float64 within
//   (n / 32 + 5) u, the norm's rounding (16 lanes) included. |q| <= 1 + that.
//   Its chains round a product at most min(n, 128) times, and n / 128 times where they are added.
//   Clipping brings no two numbers further apart, where one lies within +-1.
// Together, the score is at most A / N + 1.02 (1.51 g(n) + g(min(n, 128) + n / 128) + (n / 32 + 6) u), where
// 1.02 covers the products of errors up to kMostDim. The limit `bar - reach` and its product with N are
// rounded, too: 3 u. All that is below (2 n + min(n, 128) + 16) u. What underflow takes away is below 2^-90
// of |x| for rows whose squares are safe() (2^-900 in float64), and hides in the same sum.
template <typename T>
T reach(std::int64_t dim) {
  const T u = std::numeric_limits<T>::epsilon() / 2;
  return static_cast<T>(2 * dim + std::min(dim, isa::kChain) + 16) * u;
}

// Rough squares that neither overflow nor lose anything to underflow. Not those of a row without a direction.
bool safe(float squares) { return squares > 0x1p-80f && squares < 0x1p100f; }
bool safe(double squares) { return squares > 0x1p-800 && squares < 0x1p800; }

}  // namespace

template <typename T>
Sieve<T>::Sieve(const RowSet<T>& queries, std::int64_t first, std::int64_t n)
    : n_queries_(n <= kMostQueries && queries.dim <= kMostDim ? n : 0),
      dim_(queries.dim),
      queries_(n_queries_ * dim_),
      dots_(n_queries_ * kRowsAtOnce) {
  for (std::int64_t q = 0; q < n_queries_; ++q)
    kernels<T>().scale(dim_, queries.at(first + q), queries.direction[first + q].shift,
                       queries.direction[first + q].factor, queries_.data() + q * dim_);
}

template <typename T>
void Sieve<T>::pass(const T* rows, std::int64_t first, std::int64_t n, const isa::Candidates<T>* bars,
                    std::vector<std::int64_t>& kept) {
  const std::size_t before = kept.size();
  kept.resize(before + n);
  std::int64_t* const to = kept.data() + before;
  if (!looks(bars)) {
    std::iota(to, to + n, first);
    return;
  }
  const std::int64_t n_kept = look(rows + first * dim_, n, bars, first, to);
  kept.resize(before + n_kept);
  if (2 * n_kept > n) resting_ = kRest;
}

// Not where all rows are kept anyway, nor where a look has been in vain lately: such rows are next to each
// other, as in a gallery that is sorted.
template <typename T>
bool Sieve<T>::looks(const isa::Candidates<T>* bars) {
  if (n_queries_ == 0) return false;
  for (std::int64_t q = 0; q < n_queries_; ++q)
    if (bars[q].bar == -std::numeric_limits<T>::infinity()) return false;
  if (resting_ == 0) return true;
  --resting_;
  return false;
}

// Writes those to be kept, of which `first` is the first row's number, and returns how many they are.
template <typename T>
std::int64_t Sieve<T>::look(const T* rows, std::int64_t n, const isa::Candidates<T>* bars, std::int64_t first,
                            std::int64_t* kept) {
  T norm[kRowsAtOnce];
  bool keep[kRowsAtOnce];
  kernels<T>().rough(n, dim_, rows, n_queries_, queries_.data(), dots_.data(), norm);
  for (std::int64_t r = 0; r < n; ++r) {
    keep[r] = !safe(norm[r]);
    norm[r] = std::sqrt(norm[r]);
  }
  for (std::int64_t q = 0; q < n_queries_; ++q) {
    const T limit = bars[q].bar - reach<T>(dim_), *dot = dots_.data() + q * n;
    for (std::int64_t r = 0; r < n; ++r) keep[r] |= dot[r] > limit * norm[r];
  }
  std::int64_t n_kept = 0;
  for (std::int64_t r = 0; r < n; ++r)
    if (keep[r]) kept[n_kept++] = first + r;
  return n_kept;
}

template class Sieve<float>;
template class Sieve<double>;

}  // namespace wmb
