// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/assign.h"
#include "cpu/isa/isa.h"
#include "cpu/memory.h"

namespace wmb {

// The length of a row of n costs that the scans can read.
inline std::int64_t whole_row_steps(std::int64_t n) {
  return (n + isa::kRowStep - 1) / isa::kRowStep * isa::kRowStep;
}

// Writes the column of each row as the public OPIS solver chooses it, or kAlone. Costs are finite or +inf;
// where no row may stay alone, false if not all can be assigned of which there are fewer, rows or columns.
bool assign_as_opis(const AssignProblem& p, Memory& memory, std::int64_t* column);

}  // namespace wmb
