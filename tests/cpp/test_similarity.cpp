// SPDX-License-Identifier: Apache-2.0
// Things compared and assigned, whole and span by span: at sizes that no lane, tile or panel divides, with
// vectors that cannot be compared.
#include <limits>
#include <numeric>

#include "check.h"
#include "cpu/assign_spans.h"

namespace {

constexpr wmb::SimilarityRule kRule{0.65, 0.25, 0.10, 0.5, 0.05, 1e-6, 1e-12};

// n things in a few categories; the vectors of every ninth have a flaw, one in three an attribute.
template <typename T>
struct Made {
  std::int64_t n, dim;
  std::vector<T> vectors;
  std::vector<std::int64_t> lengths, categories, text;
  std::vector<double> number;

  Made(std::int64_t n_things, std::int64_t width, std::uint64_t seed, bool is_plain)
      : n(n_things),
        dim(width),
        vectors(check::Numbers(seed).some<T>(static_cast<std::size_t>(n * dim))),
        lengths(static_cast<std::size_t>(n), dim),
        categories(static_cast<std::size_t>(n)),
        text(static_cast<std::size_t>(2 * n), wmb::kAbsent),
        number(static_cast<std::size_t>(2 * n), std::numeric_limits<double>::quiet_NaN()) {
    check::Numbers numbers(seed + 1);
    for (std::int64_t& c : categories) c = numbers.below(4) - 1;
    for (std::size_t i = 0; !is_plain && i < text.size(); i += 3) text[i] = numbers.below(3);
    for (std::int64_t i = 4; !is_plain && dim > 0 && i < n; i += 9) {
      T* vector = vectors.data() + i * dim;
      if (i % 4 == 0) vector[0] = std::numeric_limits<T>::infinity();
      if (i % 4 == 1) std::fill_n(vector, dim, T(0));
      if (i % 4 == 2) lengths[static_cast<std::size_t>(i)] = dim - 1;
    }
  }
  wmb::Things<T> things() const {
    return {n, dim, 2, vectors.data(), lengths.data(), categories.data(), text.data(), number.data()};
  }
};

template <typename T>
void compared(std::int64_t n, std::int64_t m, std::int64_t dim, bool is_plain) {
  const Made<T> a(n, dim, 1, is_plain), b(m, dim, 2, is_plain);
  CHECK(check::same_everywhere([&] {
    std::vector<T> cosines(static_cast<std::size_t>(n * m));
    std::vector<double> scores(cosines.size());
    wmb::mixed_similarity(a.things(), b.things(), kRule, cosines.data(), scores.data());
    for (double score : scores) CHECK(0 <= score && score <= 1);
    return check::Bytes().add(cosines).add(scores);
  }));
}

TEST(similarities_of_every_shape) {
  for (bool is_plain : {true, false}) {
    compared<float>(7, 301, 131, is_plain);
    compared<double>(13, 35, 3, is_plain);
    compared<float>(400, 17, 5, is_plain);
    compared<double>(5, 9, 0, is_plain);
  }
}

TEST(nothing_to_compare) {
  const Made<float> some(9, 4, 1, true), none(0, 4, 2, true);
  float cosine = 7;
  double score = 7;
  wmb::mixed_similarity(some.things(), none.things(), kRule, &cosine, &score);
  wmb::mixed_similarity(none.things(), some.things(), kRule, &cosine, &score);
  CHECK(cosine == 7 && score == 7);
  const std::int64_t starts[] = {0, 9};
  bool unmatched[9] = {};
  wmb::assign_spans(none.things(), some.things(), kRule, {1, starts, nullptr}, 0.35,
                    {nullptr, nullptr, nullptr, nullptr, unmatched});
  for (bool each : unmatched) CHECK(each);
}

TEST(spans_are_assigned_as_the_whole_says) {
  const std::int64_t n = 23, n_spans = 7;
  const std::vector<std::int64_t> starts = {0, 0, 40, 41, 300, 300, 307, 390};
  const std::int64_t m = starts.back();
  for (bool is_plain : {true, false}) {
    const Made<float> a(n, 37, 3, is_plain), b(m, 37, 4, is_plain);
    std::vector<float> cosines(static_cast<std::size_t>(n * m));
    std::vector<double> scores(cosines.size());
    wmb::mixed_similarity(a.things(), b.things(), kRule, cosines.data(), scores.data());
    bool allowed[n_spans * n];
    check::Numbers numbers(5);
    for (bool& each : allowed) each = numbers.below(4) > 0;
    CHECK(check::same_everywhere([&] {
      const std::size_t size = static_cast<std::size_t>(n_spans * n);
      std::vector<std::int64_t> column(size);
      std::vector<double> cosine(size), score(size), margin(size);
      std::vector<std::uint8_t> unmatched(static_cast<std::size_t>(m), 7);
      wmb::assign_spans(a.things(), b.things(), kRule, {n_spans, starts.data(), allowed}, 0.35,
                        {column.data(), cosine.data(), score.data(), margin.data(),
                         reinterpret_cast<bool*>(unmatched.data())});
      std::int64_t n_matched = 0;
      for (std::int64_t k = 0; k < n_spans * n; ++k) {
        const std::size_t at = static_cast<std::size_t>(k);
        CHECK(std::isnan(margin[at]) == (!allowed[k] || starts[k / n] == starts[k / n + 1]));
        if (column[at] < 0) continue;
        const std::size_t pair = static_cast<std::size_t>(k % n * m + column[at]);
        CHECK(allowed[k] && starts[k / n] <= column[at] && column[at] < starts[k / n + 1]);
        CHECK(score[at] == scores[pair] && score[at] >= 0.35);
        CHECK(check::near(cosine[at], cosines[pair], 0) &&
              unmatched[static_cast<std::size_t>(column[at])] == 0);
        n_matched += 1;
      }
      CHECK(n_matched > 20);
      CHECK(std::accumulate(unmatched.begin(), unmatched.end(), std::int64_t{0}) == m - n_matched);
      return check::Bytes().add(column).add(cosine).add(score).add(margin).add(unmatched);
    }));
  }
}

}  // namespace
