// SPDX-License-Identifier: Apache-2.0
#include "cpu/align.h"

#include "bind/trajectories.h"
#include "cpu/associate.h"

namespace wmb {
namespace {

// One item of n >= 1 points: the short way of small calls. What does not fit is no match, hence a TypeError.
template <typename T>
void umeyama_of_one(In<T, nb::shape<-1, 3>> source, In<T, nb::shape<-1, 3>> target, bool with_scale,
                    Out<double, nb::shape<kFitRow>> fit) {
  std::size_t n = source.shape(0);
  if (n == 0 || target.shape(0) != n) throw nb::next_overload();
  nb::gil_scoped_release release;
  umeyama(Tracks<T>{source.data(), target.data(), kPoint}, Items{1, n, nullptr, nullptr, nullptr}, nullptr,
          with_scale, fit.data());
}

template <typename T>
void bind_align_of(nb::module_& m) {
  m.def("umeyama_of_one", &umeyama_of_one<T>, nb::arg("source").noconvert(), nb::arg("target").noconvert(),
        nb::arg("with_scale").noconvert(), nb::arg("fit").noconvert());
  m.def(
      "umeyama",
      [](FlatIn<T> source, FlatIn<T> target, std::size_t n, std::size_t each, MaybeIn<std::int64_t> starts,
         MaybeIn<std::int64_t> lengths, MaybeIn<std::uint8_t> mask, MaybeIn<double> weights, bool with_scale,
         FlatOut<double> fits) {
        nb::gil_scoped_release release;
        umeyama(Tracks<T>{source.data(), target.data(), kPoint}, items_of(n, each, starts, lengths, mask),
                data_or_null(weights), with_scale, fits.data());
      },
      nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("n"), nb::arg("each"),
      nb::arg("starts").noconvert().none(), nb::arg("lengths").noconvert().none(),
      nb::arg("mask").noconvert().none(), nb::arg("weights").noconvert().none(), nb::arg("with_scale"),
      nb::arg("fits").noconvert());
  m.def(
      "align_trajectory",
      [](FlatIn<T> estimate, FlatIn<T> reference, std::size_t stride, std::size_t n, std::size_t each,
         MaybeIn<std::int64_t> starts, MaybeIn<std::int64_t> lengths, MaybeIn<std::uint8_t> mask, int align,
         std::int64_t n_fit, FlatOut<double> aligned, FlatOut<double> fits) {
        nb::gil_scoped_release release;
        return refused_of(align_trajectory(Tracks<T>{estimate.data(), reference.data(), stride},
                                           items_of(n, each, starts, lengths, mask),
                                           {static_cast<Align>(align), n_fit}, aligned.data(), fits.data()));
      },
      nb::arg("estimate").noconvert(), nb::arg("reference").noconvert(), nb::arg("stride"), nb::arg("n"),
      nb::arg("each"), nb::arg("starts").noconvert().none(), nb::arg("lengths").noconvert().none(),
      nb::arg("mask").noconvert().none(), nb::arg("align"), nb::arg("n_fit"), nb::arg("aligned").noconvert(),
      nb::arg("fits").noconvert());
  m.def(
      "ape",
      [](FlatIn<T> estimate, FlatIn<T> reference, std::size_t stride, std::size_t n, std::size_t each,
         MaybeIn<std::int64_t> starts, MaybeIn<std::int64_t> lengths, MaybeIn<std::uint8_t> mask, int align,
         std::int64_t n_fit, int relation, FlatOut<double> errors, FlatOut<double> deviation,
         FlatOut<double> statistics, FlatOut<double> fits) {
        nb::gil_scoped_release release;
        return refused_of(ape(Tracks<T>{estimate.data(), reference.data(), stride},
                              items_of(n, each, starts, lengths, mask), {static_cast<Align>(align), n_fit},
                              static_cast<Relation>(relation), errors.data(), deviation.data(),
                              statistics.data(), fits.data()));
      },
      nb::arg("estimate").noconvert(), nb::arg("reference").noconvert(), nb::arg("stride"), nb::arg("n"),
      nb::arg("each"), nb::arg("starts").noconvert().none(), nb::arg("lengths").noconvert().none(),
      nb::arg("mask").noconvert().none(), nb::arg("align"), nb::arg("n_fit"), nb::arg("relation"),
      nb::arg("errors").noconvert(), nb::arg("deviation").noconvert(), nb::arg("statistics").noconvert(),
      nb::arg("fits").noconvert());
  m.def(
      "rotation_angles",
      [](FlatIn<T> a, FlatIn<T> b, FlatOut<double> angles) {
        nb::gil_scoped_release release;
        return refused_of(rotation_angles(a.data(), b.data(), angles.shape(0), angles.data()));
      },
      nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("angles").noconvert());
}

}  // namespace

void bind_align(nb::module_& m) {
  bind_align_of<double>(m);
  bind_align_of<float>(m);
  m.def(
      "associate",
      [](FlatIn<double> a, FlatIn<double> b, double limit, bool one_to_one, FlatOut<std::int64_t> pairs) {
        nb::gil_scoped_release release;
        return (one_to_one ? associate_one_to_one : associate_nearest)(a.data(), a.shape(0), b.data(),
                                                                       b.shape(0), limit, pairs.data());
      },
      nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("limit"), nb::arg("one_to_one"),
      nb::arg("pairs").noconvert());
}

}  // namespace wmb
