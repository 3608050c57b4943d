// SPDX-License-Identifier: Apache-2.0
// Commits the fault it is told to. A tool that lets one pass would let any pass: tests/test_cpp.py asks each
// tool first.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

namespace {

int shared = 0;

// Not known to the compiler: what it sees through, it may take out.
int unknown(int x) {
  volatile int y = x;
  return y;
}

void race() {
  auto count = [] {
    for (int i = 0; i < 10000; ++i) shared += 1;
  };
  std::thread one(count), other(count);
  one.join();
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "";
  int* four = new int[4];
  four[0] = unknown(1);
  int found = 0;
  if (std::strcmp(fault, "beyond") == 0) found = four[unknown(4)];
  if (std::strcmp(fault, "unset") == 0) found = four[unknown(3)] > 7 ? 1 : 2;
  if (std::strcmp(fault, "overflow") == 0) found = std::numeric_limits<int>::max() + four[0];
  if (std::strcmp(fault, "cast") == 0) found = static_cast<int>(std::nan("") * four[0]);
  if (std::strcmp(fault, "race") == 0) race();
  delete[] four;
  std::printf("%d\n", found);
  return 0;
}
