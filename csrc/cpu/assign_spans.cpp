// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign_spans.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/assign.h"
#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The rows that may have a column of the span. The others are kept from the solver: they would not change
// what it chooses, but each would have to be led to a place where it is alone.
std::vector<std::int64_t> rows_of(const ScoreSpans& in, std::int64_t span) {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(in.rows));
  for (std::int64_t i = 0; i < in.rows; ++i)
    if (!in.allowed || in.allowed[span * in.rows + i]) rows.push_back(i);
  return rows;
}

// The largest of `least` and n scores, in lanes that do not wait for each other.
double best_of(const double* score, std::int64_t n, double least) {
  constexpr std::int64_t kStep = 8;
  double lane[kStep];
  std::fill_n(lane, kStep, least);
  std::int64_t j = 0;
  for (; j + kStep <= n; j += kStep)
    for (std::int64_t k = 0; k < kStep; ++k) lane[k] = score[j + k] > lane[k] ? score[j + k] : lane[k];
  for (; j < n; ++j) lane[0] = std::max(lane[0], score[j]);
  return *std::max_element(lane, lane + kStep);
}

// The same without the score at `skipped`, which may be -1.
double best_other(const double* score, std::int64_t n, std::int64_t skipped, double least) {
  return std::max(best_of(score, skipped < 0 ? 0 : skipped, least),
                  best_of(score + skipped + 1, n - skipped - 1, least));
}

}  // namespace

void assign_spans(const ScoreSpans& in, std::int64_t* column, double* score, double* margin) {
  auto body = [&](std::size_t chunk) {
    const std::int64_t span = static_cast<std::int64_t>(chunk), start = in.starts[span];
    const std::vector<std::int64_t> rows = rows_of(in, span);
    const std::int64_t n = static_cast<std::int64_t>(rows.size()), cols = in.starts[span + 1] - start,
                       none = 0;
    Scratch<double> cost(static_cast<std::size_t>(n * cols));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        cost.data()[i * cols + j] = 1.0 - in.scores[rows[i] * in.n + start + j];
    std::vector<std::int64_t> chosen(rows.size());
    double total;
    std::uint8_t code;
    assign(cost.data(), {1, &n, &cols, &none, &none}, {false, true, true, 1.0 - in.least}, chosen.data(),
           &total, &code);
    const std::int64_t first = span * in.rows;
    std::fill_n(column + first, in.rows, -1);
    std::fill_n(score + first, in.rows, kNone);
    std::fill_n(margin + first, in.rows, kNone);
    for (std::int64_t i = 0; i < n && cols > 0; ++i) {
      const double* row = in.scores + rows[i] * in.n + start;
      const std::int64_t at = first + rows[i];
      const bool accepted = chosen[i] >= 0 && row[chosen[i]] >= in.least;
      const double mine = accepted ? row[chosen[i]] : in.least;
      margin[at] = mine - best_other(row, cols, accepted ? chosen[i] : -1, in.least);
      if (!accepted) continue;
      column[at] = start + chosen[i];
      score[at] = mine;
    }
  };
  for_chunks(static_cast<std::size_t>(in.spans), body);
}

}  // namespace wmb
