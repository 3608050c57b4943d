// SPDX-License-Identifier: Apache-2.0
#include "cpu/match.h"

#include "bind/bind.h"
#include "cpu/topk.h"

namespace wmb {
namespace {

using Spans = In<std::int64_t, nb::shape<-1, 4>>;
using Indices = Out<std::int64_t, nb::ndim<1>>;

template <typename T>
void vectors(In<T, nb::ndim<2>> a, In<T, nb::ndim<2>> b, Spans spans, bool l2, bool mutual, double ratio,
             Indices index, Out<T, nb::ndim<1>> score) {
  std::int64_t dim = a.shape(1), n_items = spans.shape(0);
  MatchRule rule{l2 ? Metric::l2 : Metric::cosine, mutual, ratio};
  nb::gil_scoped_release release;
  match(a.data(), b.data(), dim, spans.data(), n_items, rule, index.data(), score.data());
}

void binary(In<std::uint8_t, nb::ndim<2>> a, In<std::uint8_t, nb::ndim<2>> b, Spans spans, bool mutual,
            double ratio, Indices index, Out<float, nb::ndim<1>> score) {
  std::int64_t dim = a.shape(1), n_items = spans.shape(0);
  nb::gil_scoped_release release;
  match_binary(a.data(), b.data(), dim, spans.data(), n_items, {Metric::hamming, mutual, ratio}, index.data(),
               score.data());
}

template <typename T>
void patches(In<T, nb::ndim<2>> a, In<T, nb::ndim<2>> b, Spans spans, Out<T, nb::ndim<1>> score) {
  std::int64_t dim = a.shape(1), n_items = spans.shape(0);
  nb::gil_scoped_release release;
  patch_best_match(a.data(), b.data(), dim, spans.data(), n_items, score.data());
}

template <typename T>
void best_k(In<T, nb::ndim<2>> queries, In<T, nb::ndim<2>> gallery, Spans spans, std::int64_t k,
            Indices index, Out<T, nb::ndim<1>> score) {
  std::int64_t dim = queries.shape(1), n_items = spans.shape(0);
  nb::gil_scoped_release release;
  topk(queries.data(), gallery.data(), dim, spans.data(), n_items, k, index.data(), score.data());
}

template <typename T>
void bind_all(nb::module_& m) {
  using nb::arg;
  m.def("match", &vectors<T>, arg("a").noconvert(), arg("b").noconvert(), arg("spans").noconvert(), arg("l2"),
        arg("mutual"), arg("ratio"), arg("index").noconvert(), arg("score").noconvert());
  m.def("patch_best_match", &patches<T>, arg("a").noconvert(), arg("b").noconvert(), arg("spans").noconvert(),
        arg("score").noconvert());
  m.def("topk", &best_k<T>, arg("queries").noconvert(), arg("gallery").noconvert(), arg("spans").noconvert(),
        arg("k"), arg("index").noconvert(), arg("score").noconvert());
}

}  // namespace

void bind_match(nb::module_& m) {
  using nb::arg;
  bind_all<float>(m);
  bind_all<double>(m);
  m.def("match_binary", &binary, arg("a").noconvert(), arg("b").noconvert(), arg("spans").noconvert(),
        arg("mutual"), arg("ratio"), arg("index").noconvert(), arg("score").noconvert());
}

}  // namespace wmb
