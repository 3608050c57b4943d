// SPDX-License-Identifier: Apache-2.0
#include "cuda/stats.h"

#include <nanobind/stl/vector.h>

#include "cuda/bind/bind.h"

namespace wmb::cuda {

void bind_stats(nb::module_& m) {
  m.def(
      "bootstrap_workspace",
      [](std::size_t n_items, std::size_t n_cases, std::vector<std::size_t> level_size, std::size_t n) {
        return bootstrap_workspace({n_items, n_cases, nullptr, nullptr, nullptr, nullptr, level_size}, n);
      },
      nb::arg("n_items"), nb::arg("n_cases"), nb::arg("level_size"), nb::arg("n"));
  m.def(
      "bootstrap",
      [](int type, Address values, std::size_t n_items, std::size_t n_cases,
         std::vector<std::size_t> level_size, Address member, Address stratum_begin, Address stratum_size,
         Address begin, Address given, std::size_t n, std::uint64_t seed, double level, bool propagate,
         Address low, Address high, Address estimate, Address n_used, Address code, Address status,
         Address workspace, int device, Address stream) {
        using Whole = const std::int64_t;
        const BootstrapPlan plan{
            n_items,          n_cases,   at<Whole>(member), at<Whole>(stratum_begin), at<Whole>(stratum_size),
            at<Whole>(begin), level_size};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            const IntervalOut<T> out{at<T>(low),
                                     at<T>(high),
                                     at<T>(estimate),
                                     at<std::int64_t>(n_used),
                                     at<std::uint8_t>(code),
                                     at<std::uint8_t>(status)};
            return bootstrap(at<const double>(values), plan, {n, seed, at<Whole>(given)}, level, propagate,
                             out, at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("values"), nb::arg("n_items"), nb::arg("n_cases"), nb::arg("level_size"),
      nb::arg("member"), nb::arg("stratum_begin"), nb::arg("stratum_size"), nb::arg("begin"),
      nb::arg("given"), nb::arg("n"), nb::arg("seed"), nb::arg("level"), nb::arg("propagate"), nb::arg("low"),
      nb::arg("high"), nb::arg("estimate"), nb::arg("n_used"), nb::arg("code"), nb::arg("status"),
      nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace wmb::cuda
