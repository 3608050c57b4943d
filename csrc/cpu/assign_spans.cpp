// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign_spans.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/assign_opis.h"

namespace wmb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kThingsAtOnce = 256;  // of the spans that are compared together, at least

// The first span of each chunk, and their number.
std::vector<std::int64_t> chunks_of(const Spans& spans) {
  std::vector<std::int64_t> first{0};
  for (std::int64_t t = 1; t < spans.n; ++t)
    if (spans.starts[t] - spans.starts[first.back()] >= kThingsAtOnce) first.push_back(t);
  first.push_back(spans.n);
  return first;
}

bool is_allowed(const Spans& spans, std::int64_t span, std::int64_t row, std::int64_t n_rows) {
  return !spans.allowed || spans.allowed[span * n_rows + row];
}

// The rows that may have a thing of any span.
std::vector<std::int64_t> rows_of(const Spans& spans, std::int64_t n_rows) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n_rows; ++i)
    for (std::int64_t t = 0; t < spans.n; ++t)
      if (is_allowed(spans, t, i, n_rows)) {
        rows.push_back(i);
        break;
      }
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

// One chunk's spans, one after another, in the same memory.
template <typename T>
class SpanSolver {
 public:
  SpanSolver(const Comparison<T>& compared, const Spans& spans, std::int64_t n_rows, double least,
             const Assigned& out)
      : compared_(compared), spans_(spans), n_rows_(n_rows), least_(least), out_(out) {}

  void solve(std::int64_t span, const typename Comparison<T>::Panel& panel) {
    const std::int64_t start = spans_.starts[span], cols = spans_.starts[span + 1] - start;
    const std::int64_t first = span * n_rows_;
    std::fill_n(out_.column + first, n_rows_, -1);
    for (double* each : {out_.cosine, out_.score, out_.margin}) std::fill_n(each + first, n_rows_, kNone);
    std::fill_n(out_.unmatched + start, cols, true);
    if (cols == 0) return;
    // The rows that are not allowed are kept from the solver: they would not change what it chooses, but each
    // would have to be led to a place where it is alone.
    rows_.clear();
    for (std::int64_t r = 0; r < compared_.n_rows(); ++r)
      if (is_allowed(spans_, span, compared_.row(r), n_rows_)) rows_.push_back(r);
    memory_.reuse();
    const std::int64_t n = static_cast<std::int64_t>(rows_.size()), stride = whole_row_steps(cols);
    double* scores = memory_.doubles(static_cast<std::size_t>(n * stride));
    double* costs = memory_.doubles(static_cast<std::size_t>(n * stride));
    for (std::int64_t k = 0; k < n; ++k) {
      double *score = scores + k * stride, *cost = costs + k * stride;
      compared_.scores(rows_[k], panel, start - panel.first, start - panel.first + cols, score);
      for (std::int64_t j = 0; j < cols; ++j) cost[j] = 1.0 - score[j];
      std::fill(cost + cols, cost + stride, std::numeric_limits<double>::infinity());
    }
    std::int64_t* chosen = memory_.indices(static_cast<std::size_t>(n));
    assign_as_opis({n, cols, stride, costs, 1.0 - least_}, memory_, chosen);
    for (std::int64_t k = 0; k < n; ++k)
      tell(first, rows_[k], panel, start, scores + k * stride, cols, chosen[k]);
  }

 private:
  void tell(std::int64_t first, std::int64_t r, const typename Comparison<T>::Panel& panel,
            std::int64_t start, const double* score, std::int64_t cols, std::int64_t chosen) {
    const std::int64_t at = first + compared_.row(r);
    const bool accepted = chosen >= 0 && score[chosen] >= least_;
    const double mine = accepted ? score[chosen] : least_;
    out_.margin[at] = mine - best_other(score, cols, accepted ? chosen : -1, least_);
    if (!accepted) return;
    out_.column[at] = start + chosen;
    out_.cosine[at] = compared_.cosine(r, panel, start - panel.first + chosen);
    out_.score[at] = mine;
    out_.unmatched[start + chosen] = false;
  }

  const Comparison<T>& compared_;
  const Spans& spans_;
  const std::int64_t n_rows_;
  const double least_;
  const Assigned& out_;
  Memory memory_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

template <typename T>
void assign_spans(const Things<T>& rows, const Things<T>& things, const SimilarityRule& rule,
                  const Spans& spans, double least, const Assigned& out) {
  FloatEnvironment environment;
  const Comparison<T> compared(rows, rows_of(spans, rows.n), things, rule);
  const std::vector<std::int64_t> firsts = chunks_of(spans);
  auto body = [&](std::size_t chunk) {
    const std::int64_t first = firsts[chunk], last = firsts[chunk + 1], start = spans.starts[first];
    const auto panel = compared.panel(start, spans.starts[last] - start);
    SpanSolver<T> solver(compared, spans, rows.n, least, out);
    for (std::int64_t span = first; span < last; ++span) solver.solve(span, panel);
  };
  if (spans.n > 0) for_chunks(firsts.size() - 1, body);
}

template void assign_spans(const Things<float>&, const Things<float>&, const SimilarityRule&, const Spans&,
                           double, const Assigned&);
template void assign_spans(const Things<double>&, const Things<double>&, const SimilarityRule&, const Spans&,
                           double, const Assigned&);

}  // namespace wmb
