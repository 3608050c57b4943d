// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cuda_runtime.h"

// What a sanitizer must be told of a change of stacks. ThreadSanitizer takes each fiber for a thread of its
// own, and is told that a change alone orders nothing: what two CUDA threads do without a barrier between
// them is a race. This file itself is compiled without it, for the fibers do share what stands here.
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_start_switch_fiber(void** kept, const void* bottom, std::size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* kept, const void** bottom, std::size_t* size);
#endif
#if defined(SHIM_TELLS_THREAD_SANITIZER)
extern "C" void* __tsan_get_current_fiber();
extern "C" void* __tsan_create_fiber(unsigned flags);
extern "C" void __tsan_destroy_fiber(void* fiber);
extern "C" void __tsan_switch_to_fiber(void* fiber, unsigned flags);
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace cuda_shim {

Place here;

void stop(const char* sentence) {
  std::fprintf(stderr, "cuda shim: %s (block %u %u %u, thread %u)\n", sentence, here.block.x, here.block.y,
               here.block.z, here.number);
  std::_Exit(86);
}

namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;
constexpr unsigned kOrdersNothing = 1;

enum class State { ready, at_block, at_warp, gone };

// A stack to run on: one of the CUDA threads, or the program itself.
struct Fiber {
  ucontext_t context;
  char* stack = nullptr;
  void* sanitizer = nullptr;
  State state = State::gone;
  unsigned block_barriers = 0, warp_barriers = 0;  // that it has come to
  Place place;
};

// What a thread did before the barrier is ordered before what others do after it, and nothing else is: a
// thread that goes ahead to the next barrier marks the other of the two places.
struct Barrier {
  char place[2] = {};
};

struct Warp {
  std::uint64_t slot[kWarp] = {};
  Barrier barrier;
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  const std::function<void()>* kernel = nullptr;
  Barrier barrier;
  char begun = 0, done = 0;
};

bool backwards_now = false;
Block block_now;
Fiber program;
[[maybe_unused]] const void* program_bottom = nullptr;
[[maybe_unused]] std::size_t program_size = 0;

Warp& warp_now() { return block_now.warps[here.number / kWarp]; }

void acquire([[maybe_unused]] void* address) {
#if defined(SHIM_TELLS_THREAD_SANITIZER)
  __tsan_acquire(address);
#endif
}
void release([[maybe_unused]] void* address) {
#if defined(SHIM_TELLS_THREAD_SANITIZER)
  __tsan_release(address);
#endif
}

void change(Fiber& from, Fiber& to, [[maybe_unused]] bool for_good = false) {
#if defined(__SANITIZE_ADDRESS__)
  void* kept = nullptr;
  const bool home = &to == &program;
  __sanitizer_start_switch_fiber(for_good ? nullptr : &kept, home ? program_bottom : to.stack,
                                 home ? program_size : kStack);
#endif
#if defined(SHIM_TELLS_THREAD_SANITIZER)
  from.sanitizer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.sanitizer, kOrdersNothing);
#endif
  swapcontext(&from.context, &to.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

// What a fiber runs: the kernel, as one CUDA thread.
void one_thread() {
  Fiber& self = block_now.fibers[here.number];
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &program_bottom, &program_size);
#endif
  acquire(&block_now.begun);
  (*block_now.kernel)();
  release(&block_now.done);
  self.state = State::gone;
  change(self, program, true);
}

// Hands the processor on, until the barrier that this state names lets the thread go.
void wait(State state, Barrier& barrier, unsigned Fiber::* count) {
  Fiber& self = block_now.fibers[here.number];
  char* place = &barrier.place[self.*count % 2];
  ++(self.*count);
  release(place);
  self.state = state;
  change(self, program);
  acquire(place);
}

void begin(Fiber& fiber) {
  getcontext(&fiber.context);
  if (fiber.stack == nullptr) {
    void* got =
        mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) stop("no memory for a stack");
    fiber.stack = static_cast<char*>(got);
  }
#if defined(SHIM_TELLS_THREAD_SANITIZER)
  if (fiber.sanitizer == nullptr) fiber.sanitizer = __tsan_create_fiber(0);
#endif
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStack;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, one_thread, 0);
  fiber.state = State::ready;
  fiber.block_barriers = fiber.warp_barriers = 0;
}

// Lets go on who waits at a warp's barrier, where all of its lanes have come.
bool open_warp(unsigned first, unsigned last) {
  unsigned waiting = 0;
  for (unsigned t = first; t < last; ++t) waiting += block_now.fibers[t].state == State::at_warp;
  if (waiting == 0) return false;
  if (waiting != last - first) stop("a warp operation was not reached by all lanes of the warp");
  for (unsigned t = first; t < last; ++t) block_now.fibers[t].state = State::ready;
  return true;
}

// Lets go on who waits; false when all threads have left.
bool open(unsigned n) {
  bool opened = false;
  for (unsigned first = 0; first < n; first += kWarp)
    opened |= open_warp(first, first + kWarp < n ? first + kWarp : n);
  if (opened) return true;
  unsigned waiting = 0;
  for (unsigned t = 0; t < n; ++t) waiting += block_now.fibers[t].state == State::at_block;
  if (waiting == 0) return false;
  if (waiting != n) stop("a thread has left before a barrier that others reach");
  for (unsigned t = 0; t < n; ++t) block_now.fibers[t].state = State::ready;
  return true;
}

void run_block(dim3 at, dim3 grid, dim3 block) {
  const unsigned n = block.x * block.y * block.z;
  for (unsigned t = 0; t < n; ++t) {
    Fiber& fiber = block_now.fibers[t];
    fiber.place = {dim3(t % block.x, t / block.x % block.y, t / (block.x * block.y)), at, block, grid, t};
    begin(fiber);
  }
  release(&block_now.begun);
  do {
    for (unsigned k = 0; k < n; ++k) {
      Fiber& fiber = block_now.fibers[backwards_now ? n - 1 - k : k];
      if (fiber.state != State::ready) continue;
      here = fiber.place;
      change(program, fiber);
    }
  } while (open(n));
  acquire(&block_now.done);
}

}  // namespace

void set_backwards(bool backwards) { backwards_now = backwards; }

// For the tests in Python, which have the module alone.
extern "C" __attribute__((visibility("default"))) void shim_set_backwards(int backwards) {
  set_backwards(backwards != 0);
}

void run(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  const unsigned n = block.x * block.y * block.z;
  if (n == 0 || n > 1024) stop("a block must have 1 to 1024 threads");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535)
    stop("a grid must have blocks, and at most 65535 along y and z");
  if (block_now.fibers.size() < n) block_now.fibers.resize(n);
  block_now.warps.assign((n + kWarp - 1) / kWarp, Warp{});
  block_now.kernel = &kernel;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::size_t b = backwards_now ? blocks - 1 - k : k;
    const unsigned x = static_cast<unsigned>(b % grid.x), y = static_cast<unsigned>(b / grid.x % grid.y);
    run_block(dim3(x, y, static_cast<unsigned>(b / grid.x / grid.y)), grid, block);
  }
}

void block_barrier() { wait(State::at_block, block_now.barrier, &Fiber::block_barriers); }

void warp_barrier() { wait(State::at_warp, warp_now().barrier, &Fiber::warp_barriers); }

std::uint64_t exchange(std::uint64_t value, unsigned from) {
  const unsigned n = here.block_size.x * here.block_size.y * here.block_size.z;
  if (here.number / kWarp * kWarp + from >= n) stop("a shuffle reads a lane that the block does not have");
  Warp& warp = warp_now();
  warp.slot[lane()] = value;
  warp_barrier();
  const std::uint64_t got = warp.slot[from];
  warp_barrier();
  return got;
}

unsigned votes(bool value) {
  const unsigned n = here.block_size.x * here.block_size.y * here.block_size.z;
  const unsigned first = here.number / kWarp * kWarp, lanes = n - first < kWarp ? n - first : kWarp;
  Warp& warp = warp_now();
  warp.slot[lane()] = value ? 1 : 0;
  warp_barrier();
  unsigned mask = 0;
  for (unsigned k = 0; k < lanes; ++k) mask |= static_cast<unsigned>(warp.slot[k]) << k;
  warp_barrier();
  return mask;
}

}  // namespace cuda_shim
