// SPDX-License-Identifier: Apache-2.0
#include "cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace wmb {
namespace {

std::atomic<int> g_threads{0};

// Asked once: the answer is read from a file of the kernel's each time, which takes longer than a small op.
int hardware_threads() {
  static const int n = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return n;
}

}  // namespace

void set_num_threads(int n) { g_threads.store(n); }

int num_threads() {
  int n = g_threads.load();
  return n > 0 ? n : hardware_threads();
}

#if defined(__x86_64__) || defined(__i386__)
FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }

FloatEnvironment::~FloatEnvironment() { _mm_setcsr(saved_); }
#else
FloatEnvironment::FloatEnvironment() : saved_(0) {}
FloatEnvironment::~FloatEnvironment() {}
#endif

void run_chunks(std::size_t n_chunks, void (*body)(void*, std::size_t), void* context) {
  std::size_t n_workers = std::min<std::size_t>(num_threads(), n_chunks);
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_lock;
  auto work = [&] {
    FloatEnvironment environment;
    try {
      for (std::size_t chunk = next++; chunk < n_chunks; chunk = next++) body(context, chunk);
    } catch (...) {
      std::lock_guard<std::mutex> hold(error_lock);
      if (!error) error = std::current_exception();
      next.store(n_chunks);
    }
  };
  std::vector<std::thread> helpers;
  if (n_workers > 1) {
    helpers.reserve(n_workers - 1);
    try {
      for (std::size_t i = 1; i < n_workers; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads to be had: those that started, and this one, do the work.
    }
  }
  work();
  for (auto& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace wmb
