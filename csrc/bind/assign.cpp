// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign.h"

#include "bind/bind.h"

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
}

}  // namespace wmb
