// SPDX-License-Identifier: Apache-2.0
// Distances so small that their squares leave the numbers of their type: compared again, in float64, after a
// power of two has made float64 wide enough. Every such distance is taken from its two rows alone, so it does
// not depend on what else is compared.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/match.h"
#include "cpu/tiles.h"

namespace wmb {

// Squares below `square` may have lost digits. Two numbers that are 0 or of at least `least` magnitude differ
// by nothing, or by enough for the square.
template <typename T>
struct Nearness;
template <>
struct Nearness<float> {
  static constexpr float square = 0x1p-100f, least = 0x1p-39f;
  static constexpr double unit = 1.0;
};
template <>
struct Nearness<double> {
  static constexpr double square = 0x1p-960, least = 0x1p-420, unit = 0x1p500;
};

// The distance of two rows that are near each other; infinite, or merely large, for others.
template <typename T>
double near_distance(const T* x, const T* y, std::int64_t dim) {
  double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (std::int64_t k = 0; k < dim; ++k) {
    const double d = (static_cast<double>(x[k]) - static_cast<double>(y[k])) * Nearness<T>::unit;
    lanes[k % 8] += d * d;
  }
  for (int half = 4; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return std::sqrt(lanes[0]) / Nearness<T>::unit;
}

// Distances of each row to its nearest and second nearest where near, else NaN. Both empty where no row's is.
struct NearDistances {
  std::vector<double> first, second;
};

// Puts right what squares too small have mixed up: the best of rows, and of columns. Where `all_safe`, only
// distances are taken again, for then no two of them can be mistaken for each other. Else the second of each
// row must be known.
template <typename T, typename Best>
NearDistances settle_near(const RowSet<T>& a, const RowSet<T>& b, bool all_safe, Best& best) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto is_near = [](T value) { return value > -Nearness<T>::square; };
  NearDistances out;
  std::map<std::int64_t, std::pair<double, std::int64_t>> columns;  // the best near row of each
  for (std::int64_t i = 0; i < a.size(); ++i) {
    auto& row = best.rows[i];
    if (row.index[0] < 0 || !is_near(row.value[0])) continue;
    if (out.first.empty()) {
      out.first.assign(a.size(), nan);
      out.second.assign(a.size(), nan);
    }
    const auto meets = [&](std::int64_t j, double distance) {
      const auto [at, is_new] = columns.try_emplace(j, distance, i);
      if (!is_new && distance < at->second.first) at->second = {distance, i};
    };
    if (all_safe || row.index[1] < 0 || !is_near(row.value[1])) {
      out.first[i] = near_distance(a.at(i), b.at(row.index[0]), a.dim);
      meets(row.index[0], out.first[i]);
      continue;
    }
    double first = std::numeric_limits<double>::infinity(), second = first;
    const double reach = std::sqrt(static_cast<double>(Nearness<T>::square));
    for (std::int64_t j = 0; j < b.size(); ++j) {
      const double distance = near_distance(a.at(i), b.at(j), a.dim);
      if (distance < reach) meets(j, distance);
      if (distance < first) {
        second = first, first = distance;
        row.index[1] = row.index[0], row.index[0] = static_cast<decltype(row.index[0] + 0)>(j);
      } else if (distance < second) {
        second = distance;
        row.index[1] = static_cast<decltype(row.index[0] + 0)>(j);
      }
    }
    out.first[i] = first;
    out.second[i] = second;
  }
  for (const auto& [column, met] : columns)
    if (!all_safe) best.col_row[column] = static_cast<decltype(best.col_row[0] + 0)>(met.second);
  return out;
}

}  // namespace wmb
