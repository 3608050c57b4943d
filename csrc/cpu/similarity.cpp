// SPDX-License-Identifier: Apache-2.0
#include "cpu/similarity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/parallel.h"

namespace wmb {
namespace {

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

constexpr std::int64_t kBlock = 256;

// One row, where all vectors can be compared and no attribute counts. Nothing branches, so that it fills the
// vector lanes.
template <typename T>
void plain_row(const T* cosines, std::int64_t mine, const Things<T>& b, const SimilarityRule& rule,
               double* scores) {
  const double half = rule.vector / 2, weight = rule.vector + rule.category;
  const double floor = static_cast<T>(rule.floor), unknown = category_part(mine, kAbsent, rule);
  const double other = mine == kAbsent ? unknown : 0.0, same = mine == kAbsent ? unknown : rule.category;
  const double part_of[4] = {other, same, unknown, unknown};
  double part[kBlock];
  for (std::int64_t start = 0; start < b.n; start += kBlock) {
    const std::int64_t n = std::min(kBlock, b.n - start), *theirs = b.categories + start;
    for (std::int64_t j = 0; j < n; ++j) part[j] = part_of[(theirs[j] == mine) + 2 * (theirs[j] == kAbsent)];
    for (std::int64_t j = 0; j < n; ++j) {
      const double cosine = cosines[start + j], score = ((cosine + 1.0) * half + part[j]) / weight;
      const double within = score < 1.0 ? score : 1.0;
      scores[start + j] = cosine < floor ? 0.0 : within;
    }
  }
}

// What pair (i, j) shares of the attributes that i has.
template <typename T>
double likeness(const Things<T>& a, std::int64_t i, const Things<T>& b, std::int64_t j,
                const std::vector<std::int64_t>& which, bool& both) {
  double total = 0, count = 0;
  for (std::int64_t k : which) {
    const std::int64_t theirs = b.text[k * b.n + j];
    if (theirs == kAbsent) continue;
    total += attribute_likeness(a.text[k * a.n + i], theirs, a.number[k * a.n + i], b.number[k * b.n + j]);
    count += 1;
  }
  both = count > 0;
  return both ? total / count : 0.0;
}

// One pair, whatever it has. `below`: its cosine is below the floor.
template <typename T>
double score_of(const Things<T>& a, std::int64_t i, const Things<T>& b, std::int64_t j, double cosine,
                bool comparable, bool below, const std::vector<std::int64_t>& which,
                const SimilarityRule& rule) {
  bool both = false;
  const double alike = likeness(a, i, b, j, which, both);
  if (comparable ? below : !both) return 0.0;
  double score = comparable ? (cosine + 1.0) * (rule.vector / 2) : 0.0;
  score += rule.attribute * alike;
  score += category_part(a.categories[i], b.categories[j], rule);
  const double weight = (comparable ? rule.vector : 0.0) + (both ? rule.attribute : 0.0);
  score /= weight + rule.category;
  return score < 1.0 ? score : 1.0;
}

}  // namespace

template <typename T>
void mixed_similarity(const Things<T>& a, const Things<T>& b, std::int64_t dim, std::int64_t n_attributes,
                      const T* cosines, const bool* comparable, const SimilarityRule& rule, double* scores) {
  const T floor = static_cast<T>(rule.floor), near = static_cast<T>(rule.near);
  auto body = [&](std::size_t chunk) {
    const std::int64_t i = static_cast<std::int64_t>(chunk);
    const T* row = cosines + i * b.n;
    double* out = scores + i * b.n;
    std::vector<std::int64_t> which;
    for (std::int64_t k = 0; k < n_attributes; ++k)
      if (a.text[k * a.n + i] != kAbsent) which.push_back(k);
    const bool is_plain = which.empty() && !comparable;
    if (is_plain) plain_row(row, a.categories[i], b, rule, out);
    int n_near = 0;
    for (std::int64_t j = 0; j < b.n; ++j) n_near += std::abs(row[j] - floor) < near;
    for (std::int64_t j = 0; (!is_plain || n_near) && j < b.n; ++j) {
      const bool is_near = std::abs(row[j] - floor) < near;
      if (is_plain && !is_near) continue;
      const bool below =
          is_near ? is_below(a.vectors + i * dim, b.vectors + j * dim, dim, rule.floor) : row[j] < floor;
      out[j] = score_of(a, i, b, j, row[j], comparable ? comparable[i * b.n + j] : true, below, which, rule);
    }
  };
  for_chunks(static_cast<std::size_t>(a.n), body);
}

template void mixed_similarity(const Things<float>&, const Things<float>&, std::int64_t, std::int64_t,
                               const float*, const bool*, const SimilarityRule&, double*);
template void mixed_similarity(const Things<double>&, const Things<double>&, std::int64_t, std::int64_t,
                               const double*, const bool*, const SimilarityRule&, double*);

}  // namespace wmb
