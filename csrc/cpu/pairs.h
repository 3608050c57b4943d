// SPDX-License-Identifier: Apache-2.0
// Which pairs of poses a relative error is taken over.
//
//   frames          all: every (i, i + delta); else 0, delta, 2 delta, ...
//   metres          all: for every i the later pose whose distance along the path is nearest to delta, if
//   within the
//                   tolerance; else a chain: the next pose is the first at least delta further along the path
//   degrees, radians  all: every later pose whose relative angle is within the tolerance of delta; else a
//   chain on the
//                   summed angles of the steps
// A chain starts at the first pose. Ties go to the earlier pose. Paths and chains pass over poses that cannot
// be used; frames count them.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/trajectories.h"

namespace wmb {

enum class Unit : int { frames, metres, degrees, radians };

struct PairOptions {
  Unit unit;
  double delta;
  double tolerance;  // share of delta
  bool all;
  bool from_estimate;
};

// Pairs (i, j) of one trajectory of n poses, appended to `pairs`. `use` may be null; `scale` multiplies
// positions.
template <typename T>
void select_pairs(const T* poses, std::size_t n, const std::uint8_t* use, double scale, bool polish,
                  const PairOptions& options, std::vector<std::int64_t>& pairs);

}  // namespace wmb
