// SPDX-License-Identifier: Apache-2.0
#include "cpu/cosine.h"

#include "bind/bind.h"

namespace wmb {
namespace {

// Of any number of dimensions: `scores` has one element a pair; a and b have as many rows of dim, or one.
template <typename T>
void pairs(In<T> a, In<T> b, std::int64_t dim, Out<T> scores) {
  std::int64_t n = scores.size();
  std::int64_t stride_a = a.size() == static_cast<std::size_t>(dim) ? 0 : dim;
  std::int64_t stride_b = b.size() == static_cast<std::size_t>(dim) ? 0 : dim;
  nb::gil_scoped_release release;
  cosine_pairs(a.data(), stride_a, b.data(), stride_b, n, dim, scores.data());
}

// One pair: the short way of small calls. What does not fit is no match, hence a TypeError.
template <typename T>
double one(In<T, nb::shape<-1>> a, In<T, nb::shape<-1>> b) {
  std::int64_t dim = a.shape(0);
  if (dim == 0 || b.shape(0) != a.shape(0)) throw nb::next_overload();
  T score;
  nb::gil_scoped_release release;
  cosine_pairs(a.data(), 0, b.data(), 0, 1, dim, &score);
  return static_cast<double>(score);
}

template <typename T>
void matrix(In<T, nb::ndim<2>> a, In<T, nb::ndim<2>> b, In<std::int64_t, nb::shape<-1, 4>> spans,
            bool symmetric, Out<T, nb::ndim<1>> scores) {
  std::int64_t dim = a.shape(1), n_items = spans.shape(0);
  nb::gil_scoped_release release;
  cosine_matrix(a.data(), b.data(), dim, spans.data(), n_items, symmetric, scores.data());
}

}  // namespace

void bind_cosine(nb::module_& m) {
  using nb::arg;
  m.def("cosine_of_one", &one<float>, arg("a").noconvert(), arg("b").noconvert());
  m.def("cosine_of_one", &one<double>, arg("a").noconvert(), arg("b").noconvert());
  m.def("cosine_pairs", &pairs<float>, arg("a").noconvert(), arg("b").noconvert(), arg("dim"),
        arg("scores").noconvert());
  m.def("cosine_pairs", &pairs<double>, arg("a").noconvert(), arg("b").noconvert(), arg("dim"),
        arg("scores").noconvert());
  m.def("cosine_matrix", &matrix<float>, arg("a").noconvert(), arg("b").noconvert(), arg("spans").noconvert(),
        arg("symmetric"), arg("scores").noconvert());
  m.def("cosine_matrix", &matrix<double>, arg("a").noconvert(), arg("b").noconvert(),
        arg("spans").noconvert(), arg("symmetric"), arg("scores").noconvert());
}

}  // namespace wmb
