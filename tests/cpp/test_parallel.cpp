// SPDX-License-Identifier: Apache-2.0
// Chunks and threads. Compiled under ThreadSanitizer too.
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "check.h"
#include "cpu/batch.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

TEST(every_chunk_is_done_once) {
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    CHECK(wmb::num_threads() == threads);
    for (std::size_t n : {0, 1, 2, 3, 7, 8, 64, 1001}) {
      std::vector<int> times(n, 0);  // no two threads may write one place
      auto body = [&](std::size_t chunk) { ++times[chunk]; };
      wmb::for_chunks(n, body);
      bool all_once = true;
      for (int t : times) all_once = all_once && t == 1;
      CHECK(all_once);
    }
  }
}

TEST(results_of_chunks_do_not_depend_on_threads) {
  std::vector<double> first;
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    std::vector<double> sums(97);
    auto body = [&](std::size_t chunk) {
      check::Numbers numbers(chunk);
      for (int k = 0; k < 100; ++k) sums[chunk] += numbers.next();
    };
    wmb::for_chunks(sums.size(), body);
    if (threads == 1) first = sums;
    CHECK(sums == first);
  }
}

TEST(an_exception_reaches_the_caller_once_the_threads_are_done) {
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    std::atomic<int> running{0};
    std::string caught;
    auto body = [&](std::size_t chunk) {
      ++running;
      struct Leave {
        std::atomic<int>& n;
        ~Leave() { --n; }
      } leave{running};
      if (chunk % 5 == 3) throw std::runtime_error("chunk");
    };
    try {
      wmb::for_chunks(200, body);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught == "chunk");
    CHECK(running == 0);
  }
}

TEST(calls_may_be_nested_and_made_from_many_threads) {
  wmb::set_num_threads(3);
  std::atomic<int> done{0};
  auto outer = [&](std::size_t) {
    auto inner = [&](std::size_t) { ++done; };
    wmb::for_chunks(11, inner);
  };
  wmb::for_chunks(13, outer);
  CHECK(done == 11 * 13);
}

TEST(refusals_keep_the_lowest_index) {
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    wmb::Refusals refusals;
    auto body = [&](std::size_t chunk) {
      const std::int64_t at = static_cast<std::int64_t>(chunk);
      refusals.add({at % 3 == 2 ? at : -1, at % 7 == 6 ? at : -1});
    };
    wmb::for_chunks(100, body);
    CHECK(refusals.kept().est == 2);
    CHECK(refusals.kept().ref == 6);
  }
}

#if defined(__x86_64__)
TEST(floating_point_control_is_the_default_inside_and_the_callers_after) {
  if (check::once) return;  // valgrind has no denormal control
  const unsigned before = _mm_getcsr();
  const unsigned flushed = before | 0x8040;  // denormals to zero, in and out
  _mm_setcsr(flushed);
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    std::vector<unsigned> seen(40);
    auto body = [&](std::size_t chunk) { seen[chunk] = _mm_getcsr() & ~0x3fu; };  // without its status flags
    wmb::for_chunks(seen.size(), body);
    bool all_default = true;
    for (unsigned s : seen) all_default = all_default && s == 0x1f80;
    CHECK(all_default);
    CHECK((_mm_getcsr() & 0x8040) == 0x8040);
  }
  _mm_setcsr(before);
}
#endif

TEST(chunks_cover_what_they_are_cut_from) {
  for (std::size_t n = 0; n < 70; ++n) {
    for (std::size_t size : {1, 2, 7, 64}) {
      const std::size_t chunks = wmb::chunk_count(n, size);
      CHECK(chunks * size >= n);
      CHECK(n == 0 ? chunks == 0 : (chunks - 1) * size < n);
    }
  }
}

}  // namespace
