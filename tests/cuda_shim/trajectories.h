// SPDX-License-Identifier: Apache-2.0
// Pairs of trajectories, and room for what the kernels say of them: of the exact size, so that a sanitizer
// sees an index beyond.
#pragma once

#include <cmath>

#include "cuda/trajectory.h"
#include "test.h"

namespace check {

// (n, 3) points, or (n, 4, 4) poses that turn about z.
template <typename T>
std::vector<T> trajectory(std::size_t n, bool poses, std::uint64_t seed) {
  Numbers numbers(seed);
  if (!poses) return numbers.some<T>(3 * n);
  std::vector<T> out(16 * n);
  for (std::size_t k = 0; k < n; ++k) {
    const double angle = 3 * numbers.next(), c = std::cos(angle), s = std::sin(angle);
    const double pose[16] = {c, -s, 0, numbers.next(), s, c, 0, numbers.next(),
                             0, 0,  1, numbers.next(), 0, 0, 0, 1};
    for (std::size_t i = 0; i < 16; ++i) out[16 * k + i] = static_cast<T>(pose[i]);
  }
  return out;
}

// A list of pairs of trajectories.
template <typename T>
struct Pairs {
  std::vector<std::int64_t> starts, lengths;
  std::vector<T> est, ref, weights;
  std::vector<std::uint8_t> mask;

  Pairs(const std::vector<std::int64_t>& sizes, bool poses) : lengths(sizes) {
    std::int64_t total = 0;
    for (std::int64_t size : sizes) {
      starts.push_back(total);
      total += size;
    }
    const std::size_t n = static_cast<std::size_t>(total);
    est = trajectory<T>(n, poses, 1);
    ref = trajectory<T>(n, poses, 2);
    Numbers numbers(3);
    for (std::size_t k = 0; k < n; ++k) {
      mask.push_back(numbers.next() < 0.8);
      weights.push_back(static_cast<T>(std::fabs(numbers.next())));
    }
    if (n > 3) est[est.size() / 2] = static_cast<T>(std::nan(""));
  }
  std::size_t n() const { return starts.size(); }
  std::size_t total() const { return mask.size(); }
  wmb::cuda::Tracks<T> tracks(bool masked, bool weighted) const {
    return {est.data(),
            ref.data(),
            masked ? mask.data() : nullptr,
            weighted ? weights.data() : nullptr,
            {n(), 0, starts.data(), lengths.data()}};
  }
};

template <typename T>
struct Fits {
  std::vector<T> rotation, translation, scale, rmse;
  std::vector<std::int64_t> rank;
  std::vector<std::uint8_t> code, status, aligned;

  explicit Fits(std::size_t n)
      : rotation(9 * n), translation(3 * n), scale(n), rmse(n), rank(n), code(n), status(n), aligned(n) {}
  wmb::cuda::FitsOut<T> out() {
    return {rotation.data(), translation.data(), scale.data(),  rmse.data(),
            rank.data(),     code.data(),        status.data(), aligned.data()};
  }
  Bytes& add_to(Bytes& bytes) const {
    return bytes.add(rotation)
        .add(translation)
        .add(scale)
        .add(rmse)
        .add(rank)
        .add(code)
        .add(status)
        .add(aligned);
  }
};

template <typename T>
struct Statistics {
  std::vector<T> numbers;
  std::vector<std::int64_t> count;
  std::vector<std::uint8_t> code, status;

  explicit Statistics(std::size_t n) : numbers(7 * n), count(n), code(n), status(n) {}
  wmb::cuda::StatisticsOut<T> out() { return {numbers.data(), count.data(), code.data(), status.data()}; }
  Bytes& add_to(Bytes& bytes) const { return bytes.add(numbers).add(count).add(code).add(status); }
};

}  // namespace check
