// SPDX-License-Identifier: Apache-2.0
// The one way to use more than one thread.
//
// Work is cut into chunks by the caller, never by the number of threads; a chunk's result depends on the
// chunk alone, and whoever combines results does so in chunk order. Hence the same bits for any thread count.
//
// Threads are started and joined within the call (about 20 us), so a fork between calls is safe, and no
// OpenMP runtime is shared with anyone. Each call runs with default floating-point control (round to nearest,
// denormals kept) whatever the caller's thread had set, and gives the caller's setting back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace wmb {

// Bounds the threads of every later call; n >= 1.
void set_num_threads(int n);
int num_threads();

// Calls body(context, chunk) once for each chunk in [0, n_chunks), on up to num_threads() threads, in any
// order.
void run_chunks(std::size_t n_chunks, void (*body)(void* context, std::size_t chunk), void* context);

// The same for a callable taking the chunk number.
template <typename Body>
void for_chunks(std::size_t n_chunks, Body& body) {
  run_chunks(
      n_chunks, [](void* context, std::size_t chunk) { (*static_cast<Body*>(context))(chunk); }, &body);
}

// The number of chunks of `size` that cover n items.
inline std::size_t chunk_count(std::size_t n, std::size_t size) { return (n + size - 1) / size; }

// Runs body(0) ... body(n - 1), on several threads where that is asked for. Results do not depend on it.
template <typename Body>
void run_each(bool parallel, std::int64_t n, Body&& body) {
  if (parallel) {
    for_chunks(static_cast<std::size_t>(n), body);
  } else {
    for (std::int64_t i = 0; i < n; ++i) body(static_cast<std::size_t>(i));
  }
}

// Aligned memory for one chunk's work, not initialised.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t n) : data_(static_cast<T*>(::operator new(n * sizeof(T), kAlignment))) {}
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
};

// Default floating-point control for a scope.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  unsigned saved_;
};

}  // namespace wmb
