// SPDX-License-Identifier: Apache-2.0
// What the bindings of the trajectory ops have in common: a batch as it comes from Python.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bind/bind.h"
#include "cpu/trajectories.h"

namespace wmb {

template <typename T>
using FlatIn = In<T, nb::shape<-1>>;
template <typename T>
using FlatOut = Out<T, nb::shape<-1>>;
template <typename T>
using MaybeIn = std::optional<FlatIn<T>>;

template <typename T>
const T* data_or_null(const MaybeIn<T>& array) {
  return array ? array->data() : nullptr;
}

// Points (3 numbers) or poses (16), and where the items lie among them; see Items.
inline Items items_of(std::size_t n, std::size_t each, const MaybeIn<std::int64_t>& starts,
                      const MaybeIn<std::int64_t>& lengths, const MaybeIn<std::uint8_t>& mask) {
  return {n, each, data_or_null(starts), data_or_null(lengths), data_or_null(mask)};
}

// The index of the first pose of either trajectory that is no pose, or -1.
inline std::tuple<std::int64_t, std::int64_t> refused_of(const Refused& r) { return {r.est, r.ref}; }

}  // namespace wmb
