// SPDX-License-Identifier: Apache-2.0
#include "bind/bind.h"

namespace wmb {

void bind_raycast(nanobind::module_& m) { (void)m; }

}  // namespace wmb
