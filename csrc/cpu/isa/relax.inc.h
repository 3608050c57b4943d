// SPDX-License-Identifier: Apache-2.0
// The row scans of the assignment solver, written once. Included beside kernels.inc.h, for the vector type
// F64. They subtract, compare and choose: no level can round another way.
#include "cpu/isa/isa.h"

namespace wmb::isa {
namespace {

template <typename V>
inline double least_lane(typename V::Vec v) {
  double lanes[V::kLanes];
  V::store(lanes, v);
  double least = lanes[0];
  for (int l = 1; l < V::kLanes; ++l) least = lanes[l] < least ? lanes[l] : least;
  return least;
}

template <typename V>
double relax(std::int64_t n, const double* cost, const double* price, double shift, std::int64_t row,
             double* key, std::int64_t* from) {
  const typename V::Vec shifts = V::set1(shift);
  const typename V::IndexVec rows = V::set1_index(row);
  typename V::Vec least = V::set1(__builtin_inf());
#pragma GCC unroll 2
  for (std::int64_t j = 0; j < n; j += V::kLanes) {
    const typename V::Vec reach = V::sub(V::sub(V::load(cost + j), V::load(price + j)), shifts);
    const typename V::Vec old = V::load(key + j);
    const auto nearer = V::above(old, reach);
    const typename V::Vec now = V::choose(nearer, reach, old);
    V::store(key + j, now);
    V::store_index(from + j, V::choose_index(nearer, rows, V::load_index(from + j)));
    least = V::choose(V::above(least, now), now, least);
  }
  return least_lane<V>(least);
}

template <typename V>
double relax_as_opis(std::int64_t n, const double* cost, const double* price, double shift, double step,
                     std::int64_t column, double* key, std::int64_t* from) {
  const typename V::Vec shifts = V::set1(shift), steps = V::set1(step);
  const typename V::IndexVec columns = V::set1_index(column);
  typename V::Vec least = V::set1(__builtin_inf());
#pragma GCC unroll 2
  for (std::int64_t j = 0; j < n; j += V::kLanes) {
    const typename V::Vec reach = V::sub(V::sub(V::load(cost + j), shifts), V::load(price + j));
    const typename V::Vec old = V::sub(V::load(key + j), steps);
    const auto nearer = V::above(old, reach);
    const typename V::Vec now = V::choose(nearer, reach, old);
    V::store(key + j, now);
    V::store_index(from + j, V::choose_index(nearer, columns, V::load_index(from + j)));
    least = V::choose(V::above(least, now), now, least);
  }
  return least_lane<V>(least);
}

template <typename V>
std::int64_t first_least(const double* key, double least) {
  constexpr unsigned kAll = (1u << V::kLanes) - 1;
  const typename V::Vec bound = V::set1(least);
  for (std::int64_t j = 0;; j += V::kLanes) {
    const unsigned more = V::bits(V::above(V::load(key + j), bound));
    if (more != kAll) return j + __builtin_ctz(~more);
  }
}

template <typename V>
std::int64_t first_free_least(std::int64_t n, const double* key, const double* busy, double least) {
  constexpr unsigned kAll = (1u << V::kLanes) - 1;
  const typename V::Vec bound = V::set1(least);
  for (std::int64_t j = 0; j < n; j += V::kLanes) {
    const unsigned more = V::bits(V::above(V::add(V::load(key + j), V::load(busy + j)), bound));
    if (more != kAll) return j + __builtin_ctz(~more);
  }
  return n;
}

template <typename V>
void within(std::int64_t n, const double* cost, const double* price, double bound, std::uint64_t* bits) {
  constexpr unsigned kAll = (1u << V::kLanes) - 1;
  const typename V::Vec bounds = V::set1(bound);
  for (std::int64_t start = 0; start < n; start += 64) {
    const std::int64_t stop = n < start + 64 ? n : start + 64;
    std::uint64_t word = 0;
    for (std::int64_t j = start; j < stop; j += V::kLanes) {
      const unsigned above = V::bits(V::above(V::sub(V::load(cost + j), V::load(price + j)), bounds));
      word |= static_cast<std::uint64_t>(kAll & ~above) << (j - start);
    }
    *bits++ = word;
  }
}

constexpr RowScans row_scans() {
  return {relax<F64>, relax_as_opis<F64>, first_least<F64>, first_free_least<F64>, within<F64>};
}

}  // namespace
}  // namespace wmb::isa
