// SPDX-License-Identifier: Apache-2.0
#include "cuda/align.h"

#include "cuda/bind/tracks.h"

namespace wmb::cuda {

void bind_align(nb::module_& m) {
  m.def(
      "umeyama",
      [](int type, Address source, Address target, Address mask, Address weights, std::size_t n,
         std::size_t each, Address starts, Address lengths, bool with_scale, Address fits, Address rank,
         Address codes, int device, Address stream) {
        const TracksAt tracks{source, target, mask, weights, n, each, starts, lengths};
        const FitsAt out{fits, rank, codes};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return umeyama(tracks.as<T>(), with_scale, out.as<T>(n), on);
          });
        });
      },
      nb::arg("type"), nb::arg("source"), nb::arg("target"), nb::arg("mask"), nb::arg("weights"),
      nb::arg("n"), nb::arg("each"), nb::arg("starts"), nb::arg("lengths"), nb::arg("with_scale"),
      nb::arg("fits"), nb::arg("rank"), nb::arg("codes"), nb::arg("device"), nb::arg("stream"));
  m.def(
      "align_trajectory",
      [](int type, Address estimate, Address reference, Address mask, Address weights, std::size_t n,
         std::size_t each, Address starts, Address lengths, bool poses, int align, std::size_t n_fit,
         Address aligned, Address fits, Address rank, Address codes, int device, Address stream) {
        const TracksAt tracks{estimate, reference, mask, weights, n, each, starts, lengths};
        const FitsAt out{fits, rank, codes};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return align_trajectory(tracks.as<T>(), poses, {static_cast<Align>(align), n_fit}, at<T>(aligned),
                                    out.as<T>(n), on);
          });
        });
      },
      nb::arg("type"), nb::arg("estimate"), nb::arg("reference"), nb::arg("mask"), nb::arg("weights"),
      nb::arg("n"), nb::arg("each"), nb::arg("starts"), nb::arg("lengths"), nb::arg("poses"),
      nb::arg("align"), nb::arg("n_fit"), nb::arg("aligned"), nb::arg("fits"), nb::arg("rank"),
      nb::arg("codes"), nb::arg("device"), nb::arg("stream"));
  m.def("ape_needs_workspace", &ape_needs_workspace, nb::arg("most"));
  m.def(
      "ape",
      [](int type, Address estimate, Address reference, Address mask, Address weights, std::size_t n,
         std::size_t each, Address starts, Address lengths, bool poses, int align, std::size_t n_fit,
         int relation, Address errors, Address deviation, Address statistics, Address count,
         Address statistics_codes, Address fits, Address rank, Address codes, Address workspace, int device,
         Address stream) {
        const TracksAt tracks{estimate, reference, mask, weights, n, each, starts, lengths};
        const StatisticsAt summary{statistics, count, statistics_codes};
        const FitsAt out{fits, rank, codes};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return ape(tracks.as<T>(), poses, {static_cast<Align>(align), n_fit},
                       static_cast<Relation>(relation),
                       ApeOut<T>{at<T>(errors), at<T>(deviation), summary.as<T>(n), out.as<T>(n)},
                       at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("estimate"), nb::arg("reference"), nb::arg("mask"), nb::arg("weights"),
      nb::arg("n"), nb::arg("each"), nb::arg("starts"), nb::arg("lengths"), nb::arg("poses"),
      nb::arg("align"), nb::arg("n_fit"), nb::arg("relation"), nb::arg("errors"), nb::arg("deviation"),
      nb::arg("statistics"), nb::arg("count"), nb::arg("statistics_codes"), nb::arg("fits"), nb::arg("rank"),
      nb::arg("codes"), nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace wmb::cuda
