// SPDX-License-Identifier: Apache-2.0
#include "cpu/stats.h"

#include <optional>

#include <nanobind/stl/optional.h>

#include "bind/bind.h"

namespace wmb {
namespace {

using Values = In<double, nb::shape<-1>>;
using Table = In<double, nb::shape<-1, -1>>;
using Sizes = In<std::int64_t, nb::shape<-1>>;
using Numbers = Out<double, nb::shape<-1>>;
using Counts = Out<std::int64_t, nb::shape<-1>>;
using Codes = Out<std::uint8_t, nb::shape<-1>>;

void correlations(Values a, Values b, Sizes start, Sizes length, bool of_ranks, bool omit, Numbers value,
                  Numbers p, Counts n_used, Codes code) {
  nb::gil_scoped_release release;
  correlate(a.data(), b.data(), {start.shape(0), start.data(), length.data()}, of_ranks, omit,
            {value.data(), p.data(), n_used.data(), code.data()});
}

void fisher(Table rhos, std::optional<Table> weights, Numbers value, Counts n_used, Codes code) {
  nb::gil_scoped_release release;
  fisher_mean(rhos.data(), weights ? weights->data() : nullptr, rhos.shape(0), rhos.shape(1),
              {value.data(), n_used.data(), code.data()});
}

void agreement(Table metric, In<double, nb::shape<-1, -1, -1>> votes, Numbers value,
               Out<std::int64_t, nb::shape<-1, 5>> counts, Codes code) {
  nb::gil_scoped_release release;
  pairwise_agreement(metric.data(), votes.data(), metric.shape(0), metric.shape(1), votes.shape(2),
                     {value.data(), counts.data(), code.data()});
}

void intervals(Table values, Sizes stratum_size, Sizes member, Sizes group_size, Sizes level_size,
               Sizes parent, std::optional<In<std::int64_t, nb::shape<-1, -1>>> given, std::size_t n,
               std::uint64_t seed, double level, Numbers low, Numbers high, Numbers estimate, Codes code) {
  nb::gil_scoped_release release;
  const BootstrapPlan plan{values.shape(1),     stratum_size.shape(0), stratum_size.data(),
                           member.data(),       group_size.shape(0),   group_size.data(),
                           level_size.shape(0), level_size.data(),     parent.data()};
  bootstrap(values.data(), values.shape(0), plan, {n, seed, given ? given->data() : nullptr}, level,
            {low.data(), high.data(), estimate.data(), code.data()});
}

}  // namespace

void bind_stats(nb::module_& m) {
  m.def("correlate", &correlations, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("start").noconvert(), nb::arg("length").noconvert(), nb::arg("of_ranks"), nb::arg("omit"),
        nb::arg("value").noconvert(), nb::arg("p").noconvert(), nb::arg("n_used").noconvert(),
        nb::arg("code").noconvert());
  m.def("fisher_mean", &fisher, nb::arg("rhos").noconvert(), nb::arg("weights").noconvert().none(),
        nb::arg("value").noconvert(), nb::arg("n_used").noconvert(), nb::arg("code").noconvert());
  m.def("pairwise_agreement", &agreement, nb::arg("metric").noconvert(), nb::arg("votes").noconvert(),
        nb::arg("value").noconvert(), nb::arg("counts").noconvert(), nb::arg("code").noconvert());
  m.def("bootstrap", &intervals, nb::arg("values").noconvert(), nb::arg("stratum_size").noconvert(),
        nb::arg("member").noconvert(), nb::arg("group_size").noconvert(), nb::arg("level_size").noconvert(),
        nb::arg("parent").noconvert(), nb::arg("given").noconvert().none(), nb::arg("n"), nb::arg("seed"),
        nb::arg("level"), nb::arg("low").noconvert(), nb::arg("high").noconvert(),
        nb::arg("estimate").noconvert(), nb::arg("code").noconvert());
}

}  // namespace wmb
