// SPDX-License-Identifier: Apache-2.0
// The C++ tests' own checks: a test is a function named by TEST; a failed check says where, and the test goes
// on.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/simd.h"

namespace check {

struct Test {
  const char* name;
  void (*body)();
};

std::vector<Test>& tests();
void failed(const char* file, int line, const std::string& what);

struct Add {
  Add(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

// Within `within` of each other; NaN equals NaN.
inline bool near(double a, double b, double within) {
  return a == b || std::fabs(a - b) <= within || (std::isnan(a) && std::isnan(b));
}

// Numbers that are the same on every run: a multiplicative generator, in [-1, 1).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t bits() {
    state_ *= 0xda942042e4dd58b5u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  double next() { return bits() * 0x1p-31 - 1; }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits()) % n; }
  template <typename T = double>
  std::vector<T> some(std::size_t n) {
    std::vector<T> out(n);
    for (T& x : out) x = static_cast<T>(next());
    return out;
  }

 private:
  std::uint64_t state_;
};

// The bytes of results, to be compared.
class Bytes {
 public:
  template <typename T>
  Bytes& add(const std::vector<T>& values) {
    if (!values.empty())
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Valgrind runs one thread at a time, fifty times as slowly: then two threads stand for all.
extern bool once;

// Whether `make`, which returns Bytes, gives the same for 1, 2 and 7 threads at every SIMD level.
template <typename Make>
bool same_everywhere(Make make) {
  const char* levels[3];
  const int n_levels = wmb::simd_levels(levels);
  std::string first;
  bool same = true;
  for (int level = 0; level < n_levels; ++level) {
    wmb::set_simd_level(levels[level]);
    for (int threads : {2, 1, 7}) {
      if (once && threads != 2) break;
      wmb::set_num_threads(threads);
      const std::string now = make().bytes();
      if (level == 0 && threads == 2) first = now;
      same = same && now == first && !now.empty();
    }
  }
  return same;
}

}  // namespace check

#define TEST(name)                                 \
  static void name();                              \
  static const check::Add add_##name(#name, name); \
  static void name()
#define CHECK(condition) \
  if (!(condition)) check::failed(__FILE__, __LINE__, #condition)
#define CHECK_NEAR(a, b, within)        \
  if (!check::near((a), (b), (within))) \
  check::failed(                        \
      __FILE__, __LINE__,               \
      #a " = " + std::to_string(a) + " must be within " #within " of " #b " = " + std::to_string(b))
