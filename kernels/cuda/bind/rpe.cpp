// SPDX-License-Identifier: Apache-2.0
#include "cuda/rpe.h"

#include "cuda/bind/tracks.h"

namespace wmb::cuda {

void bind_rpe(nb::module_& m) {
  m.def("rpe_workspace", &rpe_workspace, nb::arg("n_items"), nb::arg("most"), nb::arg("total"));
  m.def(
      "rpe",
      [](int type, Address estimate, Address reference, Address mask, Address weights, std::size_t n,
         std::size_t each, Address starts, Address lengths, int align, std::size_t n_fit, std::size_t delta,
         bool all_pairs, bool world, int extra, Address pair_starts, std::size_t most, std::size_t total,
         Address pairs, Address errors, Address deviation, Address statistics, Address counts,
         Address statistics_codes, Address fits, Address rank, Address codes, Address workspace, int device,
         Address stream) {
        const TracksAt tracks{estimate, reference, mask, weights, n, each, starts, lengths};
        const FitsAt fitted{fits, rank, codes};
        const RpeOptions options{{static_cast<Align>(align), n_fit},
                                 {delta, all_pairs},
                                 world,
                                 extra >= 0,
                                 static_cast<Relation>(extra)};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            RpeOut<T> out{at<const std::int64_t>(pair_starts),
                          most,
                          total,
                          at<std::int64_t>(pairs),
                          at<T>(errors),
                          at<T>(deviation),
                          {},
                          fitted.as<T>(n)};
            for (std::size_t kind = 0; kind < kStepErrors; ++kind)
              out.statistics[kind] =
                  StatisticsAt{statistics + kind * 7 * n * sizeof(T),
                               counts + kind * n * sizeof(std::int64_t), statistics_codes + kind * 2 * n}
                      .as<T>(n);
            return rpe(tracks.as<T>(), options, out, at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("estimate"), nb::arg("reference"), nb::arg("mask"), nb::arg("weights"),
      nb::arg("n"), nb::arg("each"), nb::arg("starts"), nb::arg("lengths"), nb::arg("align"),
      nb::arg("n_fit"), nb::arg("delta"), nb::arg("all_pairs"), nb::arg("world"), nb::arg("extra"),
      nb::arg("pair_starts"), nb::arg("most"), nb::arg("total"), nb::arg("pairs"), nb::arg("errors"),
      nb::arg("deviation"), nb::arg("statistics"), nb::arg("counts"), nb::arg("statistics_codes"),
      nb::arg("fits"), nb::arg("rank"), nb::arg("codes"), nb::arg("workspace"), nb::arg("device"),
      nb::arg("stream"));
  m.def(
      "rotation_angle_deg",
      [](int type, Address a, Address b, std::size_t n, Address angles, int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return rotation_angle_deg(at<const T>(a), at<const T>(b), n, at<T>(angles), on);
          });
        });
      },
      nb::arg("type"), nb::arg("a"), nb::arg("b"), nb::arg("n"), nb::arg("angles"), nb::arg("device"),
      nb::arg("stream"));
}

}  // namespace wmb::cuda
