// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace wmb {

// The memory of one problem after another. It grows and is never cleared: the solvers set what they read.
class Memory {
 public:
  double* doubles(std::size_t n) { return take(doubles_, n); }
  std::int64_t* indices(std::size_t n) { return take(indices_, n); }
  std::uint64_t* words(std::size_t n) { return take(words_, n); }
  bool* flags(std::size_t n) { return take(flags_, n); }
  void reuse() { doubles_.used = indices_.used = words_.used = flags_.used = 0; }

 private:
  template <typename T>
  struct Pool {
    std::vector<std::unique_ptr<T[]>> blocks;
    std::vector<std::size_t> sizes;
    std::size_t used = 0;
  };

  template <typename T>
  static T* take(Pool<T>& pool, std::size_t n) {
    if (pool.used == pool.blocks.size()) {
      pool.blocks.emplace_back();
      pool.sizes.push_back(0);
    }
    const std::size_t k = pool.used++;
    if (pool.sizes[k] < n) {
      pool.blocks[k].reset(new T[n]);
      pool.sizes[k] = n;
    }
    return pool.blocks[k].get();
  }

  Pool<double> doubles_;
  Pool<std::int64_t> indices_;
  Pool<std::uint64_t> words_;
  Pool<bool> flags_;
};

}  // namespace wmb
