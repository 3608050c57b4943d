// SPDX-License-Identifier: Apache-2.0
// Runs every test, or those whose name contains the argument; `--once` with fewer threads. Exit status 1
// where one failed, or none ran.
#include <cstdio>
#include <exception>

#include "check.h"

namespace check {

bool once = false;

namespace {

int failures = 0;

}  // namespace

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

void failed(const char* file, int line, const std::string& what) {
  ++failures;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

}  // namespace check

int main(int argc, char** argv) {
  const char* only = "";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--once") == 0)
      check::once = true;
    else
      only = argv[i];
  }
  int ran = 0, bad = 0;
  for (const check::Test& test : check::tests()) {
    if (std::strstr(test.name, only) == nullptr) continue;
    const int before = check::failures;
    try {
      test.body();
    } catch (const std::exception& error) {
      check::failed(test.name, 0, error.what());
    }
    ++ran;
    if (check::failures == before) continue;
    ++bad;
    std::fprintf(stderr, "FAILED %s\n", test.name);
  }
  std::printf("%d tests, %d failed\n", ran, bad);
  return ran == 0 || bad > 0 ? 1 : 0;
}
