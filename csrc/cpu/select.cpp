// SPDX-License-Identifier: Apache-2.0
#include "cpu/select.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/parallel.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

using isa::Ranks;

constexpr std::int64_t kFew = 32;         // values that are sorted out at once
constexpr std::int64_t kMany = 4096;      // from here on a sample makes the bracket, below counting does
constexpr std::int64_t kChunk = 1 << 18;  // values of one chunk of work
constexpr std::int64_t kBlock = 2048;     // values whose kept ones stay in the first cache
constexpr std::int64_t kLargestSample = 1 << 14;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
template <typename T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <typename T>
struct Bracket {
  T low, high;
};

// total^(2/3) values at even distances, jittered so that the columns of an image do not all fall together.
template <typename T>
std::vector<T> sample(const std::vector<Span<T>>& spans, std::int64_t total, T least) {
  std::int64_t m = std::min(static_cast<std::int64_t>(std::pow(std::cbrt(total), 2)), kLargestSample);
  std::vector<T> values;
  values.reserve(m);
  std::size_t span = 0;
  std::int64_t start = 0;
  std::uint32_t jitter = 0;
  double step = static_cast<double>(total) / static_cast<double>(m);
  for (std::int64_t k = 0; k < m; ++k) {
    jitter += 0x9e3779b9u;  // the golden section of 2^32
    std::int64_t at =
        std::min(static_cast<std::int64_t>((static_cast<double>(k) + jitter * 0x1p-32) * step), total - 1);
    while (at >= start + spans[span].n) start += spans[span++].n;
    T value = spans[span].data[at - start];
    if (value > least && value < kInfinity<T>) values.push_back(value);
  }
  return values;
}

// Three standard deviations of the sample's rank to either side.
template <typename T>
Bracket<T> bracket(std::vector<T> values, T least, double q) {
  std::int64_t m = static_cast<std::int64_t>(values.size());
  double middle = q * static_cast<double>(m), width = 3 * std::sqrt(static_cast<double>(m) * q * (1 - q)) + 1;
  std::int64_t low = static_cast<std::int64_t>(middle - width),
               high = static_cast<std::int64_t>(middle + width) + 1;
  Bracket<T> around{least, kInfinity<T>};
  if (high < m) {
    std::nth_element(values.begin(), values.begin() + high, values.end());
    around.high = values[high];
  }
  if (middle > width && low < std::min(high, m)) {
    std::nth_element(values.begin(), values.begin() + low, values.begin() + std::min(high, m));
    around.low = values[low];
  }
  return around;
}

// Floats as integers of the same order, for halving what lies between two of them.
template <typename T>
struct Ordered;
template <>
struct Ordered<float> {
  using Key = std::int32_t;
};
template <>
struct Ordered<double> {
  using Key = std::int64_t;
};

template <typename T, typename Key = typename Ordered<T>::Key>
Key key_of(T x) {
  Key bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? static_cast<Key>(std::numeric_limits<Key>::min() - bits) : bits;
}

template <typename T, typename Key = typename Ordered<T>::Key>
T value_of(Key key) {
  Key bits = key < 0 ? static_cast<Key>(std::numeric_limits<Key>::min() - key) : key;
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <typename T>
std::int64_t below(const std::vector<Span<T>>& spans, T least, T pivot) {
  std::int64_t n = 0;
  for (const Span<T>& span : spans) n += select_kernels<T>().below(span.n, span.data, least, pivot);
  return n;
}

// What lies strictly inside the bracket, in order.
template <typename T>
std::vector<T> pass(const std::vector<Span<T>>& spans, T least, Bracket<T> around, bool parallel,
                    Ranks& ranks) {
  std::vector<Span<T>> pieces;
  for (const Span<T>& span : spans)
    for (std::int64_t i = 0; i < span.n; i += kChunk)
      pieces.push_back({span.data + i, std::min(kChunk, span.n - i)});
  std::vector<Ranks> found(pieces.size(), Ranks{0, 0, 0, 0, 0});
  std::vector<std::vector<T>> kept(pieces.size());
  run_each(parallel && pieces.size() > 1, static_cast<std::int64_t>(pieces.size()), [&](std::size_t p) {
    T block[kBlock + 8];
    for (std::int64_t i = 0; i < pieces[p].n; i += kBlock) {
      std::int64_t before = found[p].inside;
      select_kernels<T>().between(std::min(kBlock, pieces[p].n - i), pieces[p].data + i, least, around.low,
                                  around.high, block, found[p]);
      kept[p].insert(kept[p].end(), block, block + (found[p].inside - before));
    }
  });
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    ranks.usable += found[p].usable;
    ranks.below += found[p].below;
    ranks.at_low += found[p].at_low;
    ranks.inside += found[p].inside;
    ranks.at_high += found[p].at_high;
    if (p > 0) kept[0].insert(kept[0].end(), kept[p].begin(), kept[p].end());
  }
  return pieces.empty() ? std::vector<T>() : std::move(kept[0]);
}

template <typename T>
std::int64_t total_of(const std::vector<Span<T>>& spans) {
  std::int64_t total = 0;
  for (const Span<T>& span : spans) total += span.n;
  return total;
}

// The ranks asked for, among the values still looked at: first, and second = first or first + 1.
struct Position {
  double q, fraction = 0;
  std::int64_t n = -1, first = 0, second = 0;  // n is not known before the first pass

  void count(std::int64_t usable) {
    if (n >= 0) return;
    n = usable;
    double at = q * static_cast<double>(std::max<std::int64_t>(n - 1, 0));
    first = static_cast<std::int64_t>(at);
    fraction = at - static_cast<double>(first);
    second = std::min(first + (fraction > 0), n - 1);
  }
  double share(std::int64_t total) const {
    return n < 0 ? q : (static_cast<double>(first) + 0.5) / static_cast<double>(total);
  }
  Quantile result(double low, double high) const { return {low, high, fraction, n}; }
};

// Whether a rank lies outside the bracket, which is then moved to where it must lie.
template <typename T>
bool misled(const Position& at, const Ranks& found, T least, Bracket<T>& around) {
  if (at.n == 0) return false;
  if (at.first < found.below) {
    around = {least, around.low};
    return true;
  }
  if (at.second < found.below + found.at_low + found.inside + found.at_high) return false;
  around = {around.high, kInfinity<T>};
  return true;
}

// The ranks by bisection until few values lie between, then by sorting those out. For values that stay in the
// cache: counting has no branches to mispredict.
template <typename T>
Quantile by_counting(const std::vector<Span<T>>& here, T least, Position at) {
  at.count(below(here, least, kInfinity<T>));
  if (at.n == 0) return at.result(kNone, kNone);
  auto low = key_of(least), high = key_of(kInfinity<T>);
  std::int64_t n_low = 0, n_high = at.n;  // values below each
  while (n_high - n_low > kFew) {
    auto mid = (low & high) + ((low ^ high) >> 1);
    if (mid == low) break;
    std::int64_t n_mid = below(here, least, value_of<T>(mid));
    (n_mid <= at.first ? low : high) = mid;
    (n_mid <= at.first ? n_low : n_high) = n_mid;
  }
  Bracket<T> around{value_of<T>(low), value_of<T>(high)};
  Ranks found{0, 0, 0, 0, 0};
  std::vector<T> inside = pass(here, least, around, false, found);
  std::sort(inside.begin(), inside.end());
  auto value = [&](std::int64_t rank) {
    rank -= found.below;
    return rank < found.at_low ? around.low : inside[rank - found.at_low];
  };
  T first = value(at.first);
  if (at.second < n_high) return at.result(first, value(at.second));
  T second = kInfinity<T>;
  for (const Span<T>& span : here)
    for (std::int64_t i = 0; i < span.n; ++i)
      if (span.data[i] >= around.high && span.data[i] < second) second = span.data[i];
  return at.result(first, second);
}

}  // namespace

template <typename T>
Quantile quantile(const std::vector<Span<T>>& spans, T least, double q, bool parallel) {
  Position at{q};
  std::vector<Span<T>> here = spans;
  std::vector<T> kept;
  for (std::int64_t total = total_of(here); total > kMany; total = total_of(here)) {
    Bracket<T> around = bracket(sample(here, total, least), least, at.share(total));
    std::vector<T> inside;
    Ranks found;
    do {
      found = {0, 0, 0, 0, 0};
      inside = pass(here, least, around, parallel, found);
      at.count(found.usable);
    } while (misled(at, found, least, around));
    if (at.n == 0) return at.result(kNone, kNone);
    std::int64_t begin = found.below + found.at_low, end = begin + found.inside;
    if (at.first < begin || at.second >= end) {  // then one that is inside is the least or the greatest there
      auto value = [&](std::int64_t rank, auto extreme) {
        return rank < begin ? around.low : rank >= end ? around.high : *extreme(inside.begin(), inside.end());
      };
      using Iterator = typename std::vector<T>::iterator;
      return at.result(value(at.first, [](Iterator b, Iterator e) { return std::max_element(b, e); }),
                       value(at.second, [](Iterator b, Iterator e) { return std::min_element(b, e); }));
    }
    at.first -= begin;
    at.second -= begin;
    kept = std::move(inside);
    here = {{kept.data(), static_cast<std::int64_t>(kept.size())}};
  }
  return by_counting(here, least, at);
}

template Quantile quantile(const std::vector<Span<float>>&, float, double, bool);
template Quantile quantile(const std::vector<Span<double>>&, double, double, bool);

}  // namespace wmb
