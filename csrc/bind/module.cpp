// SPDX-License-Identifier: Apache-2.0
#include "bind/bind.h"
#include "core/reason.h"
#include "cpu/parallel.h"
#include "cpu/simd.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of wmb_fast. Called through wmb_fast.ops, which checks its arguments.";
  m.def("set_num_threads", &wmb::set_num_threads, nanobind::arg("n"));
  m.def("num_threads", &wmb::num_threads);
  m.def("set_simd_level", &wmb::set_simd_level, nanobind::arg("name"));
  m.def("simd_levels", [] {
    const char* names[3];
    int n = wmb::simd_levels(names);
    nanobind::typed<nanobind::list, nanobind::str> levels;
    for (int i = 0; i < n; ++i) levels.append(names[i]);
    return levels;
  });
  m.def("reason_names", [] {
    nanobind::typed<nanobind::list, nanobind::str> names;
#define WMB_REASON_NAME(name, status) names.append(#name);
    WMB_REASONS(WMB_REASON_NAME)
#undef WMB_REASON_NAME
    return names;
  });
  m.def("reason_statuses", [] {
    nanobind::typed<nanobind::list, int> statuses;
#define WMB_REASON_STATUS(name, status) statuses.append(static_cast<int>(wmb::Status::status));
    WMB_REASONS(WMB_REASON_STATUS)
#undef WMB_REASON_STATUS
    return statuses;
  });
  wmb::bind_align(m);
  wmb::bind_assign(m);
  wmb::bind_cosine(m);
  wmb::bind_flow(m);
  wmb::bind_image(m);
  wmb::bind_mask(m);
  wmb::bind_match(m);
  wmb::bind_raycast(m);
  wmb::bind_reproject(m);
  wmb::bind_rpe(m);
  wmb::bind_similarity(m);
  wmb::bind_stats(m);
}
