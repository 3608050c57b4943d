// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/similarity.h"

namespace wmb {

// Things that fall into n spans: those of span t begin at starts[t] and end at starts[t + 1].
struct Spans {
  std::int64_t n;
  const std::int64_t* starts;
  const bool* allowed;  // (n, rows): rows that may have a thing of the span at all; null: all
};

// (spans, rows) each, but the last: one entry a thing.
struct Assigned {
  std::int64_t* column;
  double *cosine, *score, *margin;
  bool* unmatched;
};

// Assigns rows to things one to one within each span, ties as the public OPIS solver: a pair costs 1 - its
// similarity, a row that stays alone 1 - least. Found are the thing of each row, -1 where none is accepted,
// for that takes a score of `least`; their cosine and score, NaN where there is none; and the margin: the
// score, or `least`, minus the best other one of the row and span, or `least` if that is more; NaN in spans
// without things and for rows that are not allowed.
template <typename T>
void assign_spans(const Things<T>& rows, const Things<T>& things, const SimilarityRule& rule,
                  const Spans& spans, double least, const Assigned& out);

}  // namespace wmb
