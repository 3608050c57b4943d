// SPDX-License-Identifier: Apache-2.0
#include "cpu/similarity.h"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/bind.h"

namespace wmb {
namespace {

using Codes = In<std::int64_t, nb::shape<-1>>;
using Attributes = In<std::int64_t, nb::ndim<2>>;
using Numbers = In<double, nb::ndim<2>>;

template <typename T>
void similarity(In<T, nb::ndim<2>> a, Codes categories_a, Attributes text_a, Numbers number_a,
                In<T, nb::ndim<2>> b, Codes categories_b, Attributes text_b, Numbers number_b,
                In<T, nb::ndim<2>> cosines, std::optional<In<bool, nb::ndim<2>>> comparable,
                In<double, nb::shape<6>> rule, Out<double, nb::ndim<2>> scores) {
  Things<T> of_a{static_cast<std::int64_t>(cosines.shape(0)), a.data(), categories_a.data(), text_a.data(),
                 number_a.data()};
  Things<T> of_b{static_cast<std::int64_t>(cosines.shape(1)), b.data(), categories_b.data(), text_b.data(),
                 number_b.data()};
  SimilarityRule how{rule(0), rule(1), rule(2), rule(3), rule(4), rule(5)};
  const std::int64_t dim = a.shape(1), n_attributes = text_a.shape(0);
  nb::gil_scoped_release release;
  mixed_similarity(of_a, of_b, dim, n_attributes, cosines.data(), comparable ? comparable->data() : nullptr,
                   how, scores.data());
}

template <typename T>
void bind_similarity_of(nb::module_& m) {
  using nb::arg;
  m.def("mixed_similarity", &similarity<T>, arg("a").noconvert(), arg("categories_a").noconvert(),
        arg("text_a").noconvert(), arg("number_a").noconvert(), arg("b").noconvert(),
        arg("categories_b").noconvert(), arg("text_b").noconvert(), arg("number_b").noconvert(),
        arg("cosines").noconvert(), arg("comparable").noconvert().none(), arg("rule").noconvert(),
        arg("scores").noconvert());
}

}  // namespace

void bind_similarity(nb::module_& m) {
  bind_similarity_of<float>(m);
  bind_similarity_of<double>(m);
}

}  // namespace wmb
