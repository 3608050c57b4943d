// SPDX-License-Identifier: Apache-2.0
#include "cpu/similarity.h"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/bind.h"
#include "cpu/assign_spans.h"

namespace wmb {
namespace {

using Codes = In<std::int64_t, nb::shape<-1>>;
using Attributes = In<std::int64_t, nb::ndim<2>>;
using Numbers = In<double, nb::ndim<2>>;
using Rule = In<double, nb::shape<7>>;

template <typename T>
Things<T> things(const In<T, nb::ndim<2>>& vectors, const Codes& lengths, const Codes& categories,
                 const Attributes& text, const Numbers& number) {
  return {static_cast<std::int64_t>(vectors.shape(0)),
          static_cast<std::int64_t>(vectors.shape(1)),
          static_cast<std::int64_t>(text.shape(0)),
          vectors.data(),
          lengths.data(),
          categories.data(),
          text.data(),
          number.data()};
}

SimilarityRule rule_of(const Rule& r) { return {r(0), r(1), r(2), r(3), r(4), r(5), r(6)}; }

template <typename T>
void similarity(In<T, nb::ndim<2>> a, Codes lengths_a, Codes categories_a, Attributes text_a,
                Numbers number_a, In<T, nb::ndim<2>> b, Codes lengths_b, Codes categories_b,
                Attributes text_b, Numbers number_b, Rule rule, Out<T, nb::ndim<2>> cosines,
                Out<double, nb::ndim<2>> scores) {
  const Things<T> of_a = things<T>(a, lengths_a, categories_a, text_a, number_a);
  const Things<T> of_b = things<T>(b, lengths_b, categories_b, text_b, number_b);
  nb::gil_scoped_release release;
  mixed_similarity(of_a, of_b, rule_of(rule), cosines.data(), scores.data());
}

template <typename T>
void solve_spans(In<T, nb::ndim<2>> a, Codes lengths_a, Codes categories_a, Attributes text_a,
                 Numbers number_a, In<T, nb::ndim<2>> b, Codes lengths_b, Codes categories_b,
                 Attributes text_b, Numbers number_b, Rule rule, Codes starts,
                 std::optional<In<bool, nb::ndim<2>>> allowed, double least,
                 Out<std::int64_t, nb::ndim<2>> column, Out<double, nb::ndim<2>> cosine,
                 Out<double, nb::ndim<2>> score, Out<double, nb::ndim<2>> margin,
                 Out<bool, nb::shape<-1>> unmatched) {
  const Things<T> of_a = things<T>(a, lengths_a, categories_a, text_a, number_a);
  const Things<T> of_b = things<T>(b, lengths_b, categories_b, text_b, number_b);
  const Spans spans{static_cast<std::int64_t>(column.shape(0)), starts.data(),
                    allowed ? allowed->data() : nullptr};
  nb::gil_scoped_release release;
  assign_spans(of_a, of_b, rule_of(rule), spans, least,
               {column.data(), cosine.data(), score.data(), margin.data(), unmatched.data()});
}

template <typename T>
void bind_similarity_of(nb::module_& m) {
  using nb::arg;
  m.def("mixed_similarity", &similarity<T>, arg("a").noconvert(), arg("lengths_a").noconvert(),
        arg("categories_a").noconvert(), arg("text_a").noconvert(), arg("number_a").noconvert(),
        arg("b").noconvert(), arg("lengths_b").noconvert(), arg("categories_b").noconvert(),
        arg("text_b").noconvert(), arg("number_b").noconvert(), arg("rule").noconvert(),
        arg("cosines").noconvert(), arg("scores").noconvert());
  m.def("assign_spans", &solve_spans<T>, arg("a").noconvert(), arg("lengths_a").noconvert(),
        arg("categories_a").noconvert(), arg("text_a").noconvert(), arg("number_a").noconvert(),
        arg("b").noconvert(), arg("lengths_b").noconvert(), arg("categories_b").noconvert(),
        arg("text_b").noconvert(), arg("number_b").noconvert(), arg("rule").noconvert(),
        arg("starts").noconvert(), arg("allowed").noconvert().none(), arg("least"), arg("column").noconvert(),
        arg("cosine").noconvert(), arg("score").noconvert(), arg("margin").noconvert(),
        arg("unmatched").noconvert());
}

}  // namespace

void bind_similarity(nb::module_& m) {
  bind_similarity_of<float>(m);
  bind_similarity_of<double>(m);
}

}  // namespace wmb
