// SPDX-License-Identifier: Apache-2.0
#include "bind/bind.h"

namespace wmb {

void bind_flow(nanobind::module_& m) { (void)m; }

}  // namespace wmb
