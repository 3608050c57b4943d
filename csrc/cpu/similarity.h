// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/similarity.h"
#include "cpu/parallel.h"
#include "cpu/tiles.h"

namespace wmb {

// n things: vectors (n, dim), of which the first `lengths` numbers count, 0 for none; category codes (n,);
// attributes by code and by number (n_attributes, n).
template <typename T>
struct Things {
  std::int64_t n, dim, n_attributes;
  const T* vectors;
  const std::int64_t* lengths;
  const std::int64_t* categories;
  const std::int64_t* text;
  const double* number;
};

// Some things of a, made ready to be compared with those of b, panel by panel. Their similarity is the
// weighted mean of (cosine + 1) / 2, of the attributes that both have, and of the category. Vectors of two
// lengths, or without a direction, are not compared: such a pair scores 0 where it shares no attribute
// either. So does every pair of a vector that is not finite, and one whose cosine is below the floor: near to
// it, that is decided on a sum in the order of the dimensions.
template <typename T>
class Comparison {
 public:
  // `rows` are the things of a that take part, called by their place among them.
  Comparison(const Things<T>& a, std::vector<std::int64_t> rows, const Things<T>& b,
             const SimilarityRule& rule);

  // Cosines of all rows with n things of b from `first` on; those of the vectors that are not compared are
  // any number.
  struct Panel {
    std::int64_t first, n, stride;
    Scratch<T> cosines;
    std::vector<std::int32_t> lengths;
  };
  Panel panel(std::int64_t first, std::int64_t n) const;

  std::int64_t n_rows() const { return rows_.size(); }
  std::int64_t row(std::int64_t r) const { return rows_.row[r]; }

  // NaN where the vectors are not compared.
  T cosine(std::int64_t r, const Panel& panel, std::int64_t j) const;
  // Of things [from, to) of a panel.
  void scores(std::int64_t r, const Panel& panel, std::int64_t from, std::int64_t to, double* out) const;

 private:
  // Lengths of vectors that are not compared.
  static constexpr std::int32_t kNone = 0, kBroken = -1;

  std::int32_t length_of(const T* vector, std::int64_t length, const Direction& direction) const;
  double likeness(std::int64_t i, std::int64_t j, bool& both) const;
  double score(std::int64_t i, std::int64_t j, T cosine, bool comparable) const;

  const Things<T> a_, b_;
  const SimilarityRule rule_;
  RowSet<T> rows_;
  std::int64_t block_rows_;
  std::vector<Scratch<T>> blocks_;
  std::vector<std::int32_t> lengths_;  // of the rows
  std::vector<bool> has_attributes_;
};

// All cosines, NaN where vectors are not compared, and all scores, both (a.n, b.n).
template <typename T>
void mixed_similarity(const Things<T>& a, const Things<T>& b, const SimilarityRule& rule, T* cosines,
                      double* scores);

}  // namespace wmb
