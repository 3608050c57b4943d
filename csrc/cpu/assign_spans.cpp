// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign_spans.h"

#include <algorithm>
#include <limits>

#include "cpu/assign.h"
#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Costs of one span. A row that is not allowed has forbidden pairs alone.
void fill_costs(const ScoreSpans& in, std::int64_t span, std::int64_t cols, double* cost) {
  for (std::int64_t i = 0; i < in.rows; ++i, cost += cols) {
    const double* score = in.scores + i * in.n + in.starts[span];
    if (in.allowed && !in.allowed[span * in.rows + i]) {
      std::fill_n(cost, cols, kInfinity);
    } else {
      for (std::int64_t j = 0; j < cols; ++j) cost[j] = 1.0 - score[j];
    }
  }
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
    const std::int64_t cols = in.starts[span + 1] - start, none = 0;
    Scratch<double> cost(static_cast<std::size_t>(in.rows * cols));
    fill_costs(in, span, cols, cost.data());
    std::int64_t* chosen = column + span * in.rows;
    double total;
    std::uint8_t code;
    assign(cost.data(), {1, &in.rows, &cols, &none, &none}, {false, true, true, 1.0 - in.least}, chosen,
           &total, &code);
    for (std::int64_t i = 0; i < in.rows; ++i) {
      const double* row = in.scores + i * in.n + start;
      const std::int64_t k = span * in.rows + i;
      const bool accepted = chosen[i] >= 0 && row[chosen[i]] >= in.least;
      if (!accepted) chosen[i] = -1;
      score[k] = accepted ? row[chosen[i]] : kNone;
      margin[k] = (accepted ? score[k] : in.least) - best_other(row, cols, chosen[i], in.least);
      if (cols == 0 || (in.allowed && !in.allowed[k])) margin[k] = kNone;
      if (accepted) chosen[i] += start;
    }
  };
  for_chunks(static_cast<std::size_t>(in.spans), body);
}

}  // namespace wmb
