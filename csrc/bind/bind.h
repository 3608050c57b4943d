// SPDX-License-Identifier: Apache-2.0
// What the binding files share: array types that neither copy nor convert, and the list of families.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace wmb {

namespace nb = nanobind;

// C-contiguous arrays in host memory. Bound with .noconvert(): the walls have already made them so.
template <typename T, typename... Shape>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu, Shape...>;
template <typename T, typename... Shape>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;

void bind_align(nb::module_& m);
void bind_assign(nb::module_& m);
void bind_cosine(nb::module_& m);
void bind_flow(nb::module_& m);
void bind_image(nb::module_& m);
void bind_mask(nb::module_& m);
void bind_match(nb::module_& m);
void bind_raycast(nb::module_& m);
void bind_reproject(nb::module_& m);
void bind_rpe(nb::module_& m);
void bind_similarity(nb::module_& m);
void bind_stats(nb::module_& m);

}  // namespace wmb
