// SPDX-License-Identifier: Apache-2.0
#include "cpu/stats.h"

#include "core/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/reason.h"
#include "cpu/parallel.h"
#include "cpu/ranks.h"

namespace wmb {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  double ab, aa, bb;
};

double pearson_of(const Moments& m) {
  // The root of a product, not the product of roots: it is exact where one sample is the other.
  const double r = m.ab / std::sqrt(m.aa * m.bb);
  return std::fmin(1.0, std::fmax(-1.0, r));
}

// Sums of products of centred ranks. They are whole numbers below n^3, and the partial sums that are made
// in integers stay below 2^62.
Moments rank_moments(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const std::int64_t n = static_cast<std::int64_t>(a.size());
  const std::int64_t block =
      std::max<std::int64_t>(1, (std::int64_t{1} << 62) / std::max<std::int64_t>(1, n * n));
  Moments sum{0, 0, 0};
  for (std::int64_t first = 0; first < n; first += block) {
    std::int64_t ab = 0, aa = 0, bb = 0;
    for (std::int64_t i = first; i < std::min(n, first + block); ++i) {
      ab += a[i] * b[i];
      aa += a[i] * a[i];
      bb += b[i] * b[i];
    }
    sum.ab += static_cast<double>(ab);
    sum.aa += static_cast<double>(aa);
    sum.bb += static_cast<double>(bb);
  }
  return sum;
}

// Puts values about their mean, and within one, so that no square overflows or vanishes. The first value is
// taken away first: what is left of values with a large common part is exact.
void centre(std::vector<double>& x) {
  double sum = 0, largest = 0;
  for (double value : x) largest = std::fmax(largest, std::fabs(value));
  if (largest > 0x1p950)  // differences and sums of these could overflow
    for (double& value : x) value *= 0x1p-64;
  const double first = x[0];
  largest = 0;
  for (double& value : x) {
    value -= first;
    sum += value;
  }
  const double mean = sum / static_cast<double>(x.size());
  for (double& value : x) {
    value -= mean;
    largest = std::fmax(largest, std::fabs(value));
  }
  int exponent;
  std::frexp(largest, &exponent);
  for (double& value : x) value = std::ldexp(value, -exponent);
}

Moments value_moments(std::vector<double>& a, std::vector<double>& b) {
  centre(a);
  centre(b);
  Moments sum{0, 0, 0};
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum.ab += a[i] * b[i];
    sum.aa += a[i] * a[i];
    sum.bb += b[i] * b[i];
  }
  return sum;
}

bool is_constant(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; });
}

struct PairSample {
  std::vector<double> a, b;
  std::vector<std::int64_t> rank_a, rank_b;
  Ranker ranker;
};

Reason correlate_one(PairSample& s, bool of_ranks, double& value, double& p) {
  const std::size_t n = s.a.size();
  if (n < 2) return Reason::too_few_pairs;
  if (is_constant(s.a) || is_constant(s.b)) return Reason::constant_input;
  if (of_ranks) {
    s.rank_a.resize(n);
    s.rank_b.resize(n);
    s.ranker.centred(s.a.data(), static_cast<std::uint32_t>(n), s.rank_a.data());
    s.ranker.centred(s.b.data(), static_cast<std::uint32_t>(n), s.rank_b.data());
    value = pearson_of(rank_moments(s.rank_a, s.rank_b));
  } else {
    value = pearson_of(value_moments(s.a, s.b));
  }
  if (n == 2) {
    value = std::copysign(1.0, value);
    p = of_ranks ? kMissing : 1.0;  // as SciPy has it: no degree of freedom, and certain
    return Reason::two_pairs;
  }
  p = correlation_p(value, static_cast<double>(n - 2));
  return Reason::ok;
}

}  // namespace

void correlate(const double* a, const double* b, SampleItems items, bool of_ranks, bool omit,
               CorrelationOut out) {
  auto item = [&](std::size_t k) {
    PairSample s;
    const double *x = a + items.start[k], *y = b + items.start[k];
    bool usable = true;
    for (std::int64_t i = 0; i < items.length[k]; ++i) {
      if (std::isnan(x[i]) || std::isnan(y[i])) {
        usable &= omit;
        continue;
      }
      usable &= of_ranks || (std::isfinite(x[i]) && std::isfinite(y[i]));
      s.a.push_back(x[i]);
      s.b.push_back(y[i]);
    }
    double value = kMissing, p = kMissing;
    out.n_used[k] = static_cast<std::int64_t>(s.a.size());
    const Reason reason = usable ? correlate_one(s, of_ranks, value, p) : Reason::value_not_finite;
    out.value[k] = value;
    out.p[k] = p;
    out.code[k] = static_cast<std::uint8_t>(reason);
  };
  for_chunks(items.count, item);
}

void fisher_mean(const double* rhos, const double* weights, std::size_t n_items, std::size_t n, MeanOut out) {
  auto item = [&](std::size_t k) {
    FisherSum sum;
    for (std::size_t i = k * n; i < (k + 1) * n; ++i) sum.add(rhos[i], weights == nullptr ? 1.0 : weights[i]);
    Reason reason = sum.capped ? Reason::correlation_of_one : Reason::ok;
    if (sum.n_used == 0)
      reason = Reason::no_samples;
    else if (sum.invalid)
      reason = Reason::no_correlation;
    else if (!(sum.weights > 0))
      reason = Reason::no_weight;
    const bool has_value = reason == Reason::ok || reason == Reason::correlation_of_one;
    out.value[k] = has_value ? sum.mean() : kMissing;
    out.n_used[k] = sum.n_used;
    out.code[k] = static_cast<std::uint8_t>(reason);
  };
  for_chunks(n_items, item);
}

void pairwise_agreement(const double* metric, const double* votes, std::size_t n_items, std::size_t n,
                        std::size_t n_voters, VotesOut out) {
  auto item = [&](std::size_t k) {
    std::int64_t agree = 0, decisive = 0, tie = 0, split = 0, missing = 0;
    for (std::size_t i = k * n; i < (k + 1) * n; ++i) {
      std::int64_t balance = 0, cast = 0;
      for (std::size_t v = i * n_voters; v < (i + 1) * n_voters; ++v) {
        balance += (votes[v] > 0) - (votes[v] < 0);
        cast += !std::isnan(votes[v]);
      }
      if (std::isnan(metric[i]) || cast == 0) {
        ++missing;
      } else if (balance == 0) {
        ++split;
      } else if (metric[i] == 0) {
        ++tie;
      } else {
        ++decisive;
        agree += (metric[i] > 0) == (balance > 0);
      }
    }
    const std::int64_t counts[5] = {agree, decisive, tie, split, missing};
    std::copy(counts, counts + 5, out.counts + 5 * k);
    out.value[k] = decisive == 0 ? kMissing : static_cast<double>(agree) / static_cast<double>(decisive);
    out.code[k] = static_cast<std::uint8_t>(decisive == 0 ? Reason::no_decisive_pair : Reason::ok);
  };
  for_chunks(n_items, item);
}

}  // namespace wmb
