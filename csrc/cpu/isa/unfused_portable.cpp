// SPDX-License-Identifier: Apache-2.0
// The floor: one lane, for any machine.
#include <cstdint>

#include "cpu/isa/unfused.h"

namespace wmb::isa {
namespace {

using Real = double;
using Flag = bool;
constexpr int kLanes = 1;

template <typename T>
Real load(const T* p, std::int64_t) {
  return *p;
}
template <typename T>
void store(T* p, Real x, std::int64_t) {
  *p = static_cast<T>(x);
}
template <typename T>
void load_two(const T* p, std::int64_t, Real& first, Real& second) {
  first = p[0];
  second = p[1];
}
Flag equal(const std::int64_t* p, std::int64_t, std::int64_t value) { return *p == value; }
Real counting(std::int64_t i) { return static_cast<double>(i); }
void store_index(std::int32_t* p, Real x) { *p = static_cast<std::int32_t>(x); }
template <typename T>
Real gather(const T* p, const std::int32_t* index) {
  return p[*index];
}
template <typename T>
void gather_two(const T* p, const std::int32_t* index, Real& first, Real& second) {
  first = p[*index];
  second = p[*index + 1];
}
struct Counter {
  std::int64_t n = 0;
  void add(Flag f) { n += f; }
  std::int64_t total() const { return n; }
};
struct Sum {
  double lanes[4] = {0, 0, 0, 0};
  void add(Real x, std::int64_t position) { lanes[position % 4] += x; }
  double total() const { return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]); }
};
template <typename T>
std::int64_t below_of(std::int64_t, const T*, T, T, std::int64_t&) {
  return 0;
}
template <typename T>
std::int64_t inside_of(std::int64_t, const T*, T, T, T, T*, Ranks&) {
  return 0;
}

}  // namespace
}  // namespace wmb::isa

#include "cpu/isa/unfused.inc.h"

namespace wmb::isa {

const Unfused unfused_portable = table();

}  // namespace wmb::isa
