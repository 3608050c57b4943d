// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign.h"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/bind.h"
#include "cpu/assign_spans.h"

namespace wmb {
namespace {

using Sizes = In<std::int64_t, nb::shape<-1>>;

template <typename T>
void solve(In<T, nb::shape<-1>> cost, Sizes rows, Sizes cols, Sizes cost_start, Sizes row_start,
           bool maximize, bool as_opis, bool may_be_alone, double null_cost,
           Out<std::int64_t, nb::shape<-1>> column, Out<double, nb::shape<-1>> total,
           Out<std::uint8_t, nb::shape<-1>> code) {
  nb::gil_scoped_release release;
  assign(cost.data(), {rows.shape(0), rows.data(), cols.data(), cost_start.data(), row_start.data()},
         {maximize, as_opis, may_be_alone, null_cost}, column.data(), total.data(), code.data());
}

void solve_spans(In<double, nb::ndim<2>> scores, Sizes starts, std::optional<In<bool, nb::ndim<2>>> allowed,
                 double least, Out<std::int64_t, nb::ndim<2>> column, Out<double, nb::ndim<2>> score,
                 Out<double, nb::ndim<2>> margin) {
  ScoreSpans in{static_cast<std::int64_t>(scores.shape(0)),
                static_cast<std::int64_t>(scores.shape(1)),
                static_cast<std::int64_t>(column.shape(0)),
                scores.data(),
                starts.data(),
                allowed ? allowed->data() : nullptr,
                least};
  nb::gil_scoped_release release;
  assign_spans(in, column.data(), score.data(), margin.data());
}

template <typename T>
void bind_assign_of(nb::module_& m) {
  m.def("assign", &solve<T>, nb::arg("cost").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("cols").noconvert(), nb::arg("cost_start").noconvert(), nb::arg("row_start").noconvert(),
        nb::arg("maximize"), nb::arg("as_opis"), nb::arg("may_be_alone"), nb::arg("null_cost"),
        nb::arg("column").noconvert(), nb::arg("total").noconvert(), nb::arg("code").noconvert());
}

}  // namespace

void bind_assign(nb::module_& m) {
  bind_assign_of<float>(m);
  bind_assign_of<double>(m);
  m.def("assign_spans", &solve_spans, nb::arg("scores").noconvert(), nb::arg("starts").noconvert(),
        nb::arg("allowed").noconvert().none(), nb::arg("least"), nb::arg("column").noconvert(),
        nb::arg("score").noconvert(), nb::arg("margin").noconvert());
}

}  // namespace wmb
