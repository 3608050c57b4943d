// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda_runtime.h"

namespace cuda_shim {

thread_local Place here;

void stop(const char* sentence) {
  std::fprintf(stderr, "cuda shim: %s (block %u %u %u, thread %u)\n", sentence, here.block.x, here.block.y,
               here.block.z, here.number);
  std::_Exit(86);
}

namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// Lets its members go on when all of them have arrived. A member that leaves for good while others wait would
// have left them waiting for ever.
class Barrier {
 public:
  void reset(unsigned members) {
    members_ = members;
    waiting_ = gone_ = 0;
  }
  void arrive() {
    std::unique_lock<std::mutex> hold(lock_);
    if (gone_ > 0) stop("a thread has left before a barrier that others reach");
    if (++waiting_ == members_) {
      waiting_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    const unsigned round = round_;
    if (!all_here_.wait_for(hold, kPatience, [&] { return round_ != round; }))
      stop("a barrier was not reached by all threads");
  }
  void leave() {
    std::unique_lock<std::mutex> hold(lock_);
    ++gone_;
    if (waiting_ > 0) stop("a thread leaves while others wait at a barrier");
  }

 private:
  std::mutex lock_;
  std::condition_variable all_here_;
  unsigned members_ = 0, waiting_ = 0, gone_ = 0, round_ = 0;
};

struct Warp {
  Barrier barrier;
  std::uint64_t slot[kWarp] = {};
  unsigned lanes = 0;
};

struct Block {
  Barrier barrier;
  std::vector<std::unique_ptr<Warp>> warps;

  void begin(unsigned n) {
    barrier.reset(n);
    for (unsigned w = 0; w < warps.size(); ++w) {
      warps[w]->lanes = n - w * kWarp < kWarp ? n - w * kWarp : kWarp;
      warps[w]->barrier.reset(warps[w]->lanes);
    }
  }
};

Block* block_now = nullptr;

Warp& warp_now() { return *block_now->warps[here.number / kWarp]; }

// One CUDA thread of every block, one block after the other.
void one_thread(dim3 grid, dim3 block, unsigned number, Barrier& between, const std::function<void()>& kernel) {
  const unsigned n = block.x * block.y * block.z;
  here.grid_size = grid;
  here.block_size = block;
  here.number = number;
  here.thread = dim3(number % block.x, number / block.x % block.y, number / (block.x * block.y));
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        here.block = dim3(x, y, z);
        kernel();
        warp_now().barrier.leave();
        block_now->barrier.leave();
        between.arrive();
        if (number == 0) block_now->begin(n);
        between.arrive();
      }
}

}  // namespace

void run(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  const unsigned n = block.x * block.y * block.z;
  if (n == 0 || n > 1024) stop("a block must have 1 to 1024 threads");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535)
    stop("a grid must have blocks, and at most 65535 along y and z");
  Block shared;
  Barrier between;
  for (unsigned w = 0; w * kWarp < n; ++w) shared.warps.push_back(std::make_unique<Warp>());
  shared.begin(n);
  between.reset(n);
  block_now = &shared;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < n; ++t)
    threads.emplace_back(one_thread, grid, block, t, std::ref(between), std::cref(kernel));
  for (std::thread& thread : threads) thread.join();
  block_now = nullptr;
}

void block_barrier() { block_now->barrier.arrive(); }

void warp_barrier() { warp_now().barrier.arrive(); }

std::uint64_t exchange(std::uint64_t value, unsigned from) {
  Warp& warp = warp_now();
  if (from >= warp.lanes) stop("a shuffle reads a lane that the block does not have");
  warp.slot[lane()] = value;
  warp.barrier.arrive();
  const std::uint64_t got = warp.slot[from];
  warp.barrier.arrive();
  return got;
}

unsigned votes(bool value) {
  Warp& warp = warp_now();
  warp.slot[lane()] = value ? 1 : 0;
  warp.barrier.arrive();
  unsigned mask = 0;
  for (unsigned k = 0; k < warp.lanes; ++k) mask |= static_cast<unsigned>(warp.slot[k]) << k;
  warp.barrier.arrive();
  return mask;
}

}  // namespace cuda_shim
