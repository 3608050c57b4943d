// SPDX-License-Identifier: Apache-2.0
#include "cpu/rpe.h"

#include "bind/trajectories.h"

namespace wmb {
namespace {

RpeOptions options_of(int align, std::int64_t n_fit, int unit, double delta, double tolerance, bool all_pairs,
                      bool from_estimate, bool world, int extra) {
  return {{static_cast<Align>(align), n_fit},
          {static_cast<Unit>(unit), delta, tolerance, all_pairs, from_estimate},
          world,
          extra >= 0,
          static_cast<Relation>(extra)};
}

template <typename T>
void bind_rpe_of(nb::module_& m) {
  m.def(
      "count_pairs",
      [](FlatIn<T> estimate, FlatIn<T> reference, std::size_t n, std::size_t each,
         MaybeIn<std::int64_t> starts, MaybeIn<std::int64_t> lengths, MaybeIn<std::uint8_t> mask, int align,
         std::int64_t n_fit, int unit, double delta, double tolerance, bool all_pairs, bool from_estimate,
         FlatOut<std::int64_t> counts) {
        nb::gil_scoped_release release;
        return refused_of(count_pairs(
            Tracks<T>{estimate.data(), reference.data(), kPose}, items_of(n, each, starts, lengths, mask),
            options_of(align, n_fit, unit, delta, tolerance, all_pairs, from_estimate, false, -1),
            counts.data()));
      },
      nb::arg("estimate").noconvert(), nb::arg("reference").noconvert(), nb::arg("n"), nb::arg("each"),
      nb::arg("starts").noconvert().none(), nb::arg("lengths").noconvert().none(),
      nb::arg("mask").noconvert().none(), nb::arg("align"), nb::arg("n_fit"), nb::arg("unit"),
      nb::arg("delta"), nb::arg("tolerance"), nb::arg("all_pairs"), nb::arg("from_estimate"),
      nb::arg("counts").noconvert());
  m.def(
      "rpe",
      [](FlatIn<T> estimate, FlatIn<T> reference, std::size_t n, std::size_t each,
         MaybeIn<std::int64_t> starts, MaybeIn<std::int64_t> lengths, MaybeIn<std::uint8_t> mask, int align,
         std::int64_t n_fit, int unit, double delta, double tolerance, bool all_pairs, bool from_estimate,
         bool world, int extra, FlatIn<std::int64_t> pair_starts, FlatOut<std::int64_t> pairs,
         Out<double, nb::shape<3, -1>> errors, Out<double, nb::shape<3, -1>> statistics,
         FlatOut<double> deviation, FlatOut<double> fits) {
        nb::gil_scoped_release release;
        std::size_t n_errors = errors.shape(1), row = statistics.shape(1);
        double *e = errors.data(), *s = statistics.data();
        return refused_of(
            rpe(Tracks<T>{estimate.data(), reference.data(), kPose}, items_of(n, each, starts, lengths, mask),
                options_of(align, n_fit, unit, delta, tolerance, all_pairs, from_estimate, world, extra),
                {pair_starts.data(), pairs.data(), e, e + n_errors, e + 2 * n_errors, s, s + row, s + 2 * row,
                 deviation.data(), fits.data()}));
      },
      nb::arg("estimate").noconvert(), nb::arg("reference").noconvert(), nb::arg("n"), nb::arg("each"),
      nb::arg("starts").noconvert().none(), nb::arg("lengths").noconvert().none(),
      nb::arg("mask").noconvert().none(), nb::arg("align"), nb::arg("n_fit"), nb::arg("unit"),
      nb::arg("delta"), nb::arg("tolerance"), nb::arg("all_pairs"), nb::arg("from_estimate"),
      nb::arg("world"), nb::arg("extra"), nb::arg("pair_starts").noconvert(), nb::arg("pairs").noconvert(),
      nb::arg("errors").noconvert(), nb::arg("statistics").noconvert(), nb::arg("deviation").noconvert(),
      nb::arg("fits").noconvert());
}

}  // namespace

void bind_rpe(nb::module_& m) {
  bind_rpe_of<double>(m);
  bind_rpe_of<float>(m);
}

}  // namespace wmb
