// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace wmb {

// Scores (rows, n) whose columns fall into spans: those of span t begin at starts[t] and end at starts[t +
// 1].
struct ScoreSpans {
  std::int64_t rows, n, spans;
  const double* scores;
  const std::int64_t* starts;
  const bool* allowed;  // (spans, rows): rows that may have a column of the span at all; null: all
  double least;         // of an accepted score
};

// Assigns rows to columns one to one within each span, ties as the public OPIS solver: a pair costs
// 1 - score, a row that stays alone 1 - least. For (spans, rows): the column, -1 where none is accepted, its
// score, NaN then, and the margin: the score, or `least`, minus the best other one of the row and span, or
// `least` if that is more; NaN in spans without columns and for rows that are not allowed.
void assign_spans(const ScoreSpans& in, std::int64_t* column, double* score, double* margin);

}  // namespace wmb
