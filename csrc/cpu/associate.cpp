// SPDX-License-Identifier: Apache-2.0
#include "cpu/associate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace wmb {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Equal stamps of one side, of which those before `next` are paired.
struct Run {
  bool of_a;
  std::size_t next, end;
  std::size_t before, after;  // neighbouring runs that still have stamps
};

struct Candidate {
  double difference;
  std::size_t i, j;         // the stamps
  std::size_t left, right;  // their runs
};

struct Later {
  bool operator()(const Candidate& p, const Candidate& q) const {
    if (p.difference != q.difference) return p.difference > q.difference;
    return p.i != q.i ? p.i > q.i : p.j > q.j;
  }
};

// Closest first. The closest stamps of opposite sides always lie in neighbouring runs of the merged row, so
// it is enough to keep those in a queue, and to look at the new neighbours when a run is used up. Nothing
// pairs across a gap wider than the limit, so the row falls into clusters, most of them of a few stamps, that
// are worked off one by one.
class OneToOne {
 public:
  OneToOne(const double* a, const double* b, double limit) : a_(a), b_(b), limit_(limit) {}

  std::vector<Pair> solve(std::size_t n_a, std::size_t n_b) {
    std::size_t i = 0, j = 0;
    double last = -std::numeric_limits<double>::infinity();
    pairs_.reserve(std::min(n_a, n_b));
    while (i < n_a || j < n_b) {
      double stamp = j == n_b || (i < n_a && a_[i] <= b_[j]) ? a_[i] : b_[j];
      if (stamp - last > limit_) close_cluster();
      if (runs_.empty() && i < n_a && j < n_b && lone(i, n_a, j, n_b)) continue;
      last = stamp;
      std::size_t i_end = i, j_end = j;
      while (i_end < n_a && a_[i_end] == stamp) ++i_end;
      while (j_end < n_b && b_[j_end] == stamp) ++j_end;
      while (i < i_end && j < j_end) pair(i++, j++);
      if (i < i_end) append({true, i, i_end, kNone, kNone});
      if (j < j_end) append({false, j, j_end, kNone, kNone});
      i = i_end;
      j = j_end;
    }
    close_cluster();
    return std::move(pairs_);
  }

 private:
  // What most stamps come to: the next of either side have no third near them and pair, or the next stamp of
  // all has nobody near. Steps over them; false where more has to be looked at.
  bool lone(std::size_t& i, std::size_t n_a, std::size_t& j, std::size_t n_b) {
    const double low = std::min(a_[i], b_[j]), high = std::max(a_[i], b_[j]);
    double third = std::numeric_limits<double>::infinity();
    if (i + 1 < n_a) third = a_[i + 1];
    if (j + 1 < n_b) third = std::min(third, b_[j + 1]);
    if (high - low <= limit_ && third - high > limit_) {
      pair(i++, j++);
      sorted_ = pairs_.size();
      return true;
    }
    if (!(std::min(high, third) - low > limit_)) return false;
    ++(a_[i] <= b_[j] ? i : j);
    return true;
  }

  // Pairs what can be paired of the runs so far, and forgets them.
  void close_cluster() {
    if (runs_.empty()) return;
    for (std::size_t k = 1; k < runs_.size(); ++k) offer(k - 1, k);
    while (!queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      Run &left = runs_[best.left], &right = runs_[best.right];
      // Of an outdated candidate a stamp is paired, or the runs are no longer neighbours.
      if (left.after != best.right || index_of(left, right, true) != best.i ||
          index_of(left, right, false) != best.j)
        continue;
      pair(best.i, best.j);
      if (++left.next == left.end) unlink(left);
      if (++right.next == right.end) unlink(right);
      bool left_stays = left.next < left.end, right_stays = right.next < right.end;
      if (left_stays) offer(left.before, best.left);
      if (right_stays) offer(best.right, right.after);
      offer(left_stays ? best.left : left.before, right_stays ? best.right : right.after);
    }
    runs_.clear();
    if (pairs_.size() > sorted_ + 1)
      std::sort(pairs_.begin() + static_cast<std::ptrdiff_t>(sorted_), pairs_.end());
    sorted_ = pairs_.size();
  }

  static std::size_t index_of(const Run& left, const Run& right, bool of_a) {
    return left.of_a == of_a ? left.next : right.next;
  }

  void append(Run run) {
    if (!runs_.empty()) {
      run.before = runs_.size() - 1;
      runs_.back().after = runs_.size();
    }
    runs_.push_back(run);
  }

  // Its own links stay: they say which runs have become neighbours.
  void unlink(const Run& run) {
    if (run.before != kNone) runs_[run.before].after = run.after;
    if (run.after != kNone) runs_[run.after].before = run.before;
  }

  void offer(std::size_t left, std::size_t right) {
    if (left == kNone || right == kNone || runs_[left].of_a == runs_[right].of_a) return;
    std::size_t i = index_of(runs_[left], runs_[right], true), j = index_of(runs_[left], runs_[right], false);
    double difference = std::abs(a_[i] - b_[j]);
    if (difference <= limit_) queue_.push({difference, i, j, left, right});
  }

  void pair(std::size_t i, std::size_t j) {
    pairs_.emplace_back(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  }

  const double* a_;
  const double* b_;
  double limit_;
  std::vector<Pair> pairs_;
  std::size_t sorted_ = 0;  // pairs of the clusters that are closed
  std::vector<Run> runs_;
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue_;
};

}  // namespace

std::size_t associate_one_to_one(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                                 double limit, std::int64_t* pairs) {
  const std::vector<Pair> found = OneToOne(a, b, limit).solve(n_a, n_b);
  for (std::size_t k = 0; k < found.size(); ++k) {
    pairs[2 * k] = found[k].first;
    pairs[2 * k + 1] = found[k].second;
  }
  return found.size();
}

std::size_t associate_nearest(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                              double limit, std::int64_t* pairs) {
  std::size_t count = 0, after = 0;
  for (std::size_t i = 0; i < n_a && n_b > 0; ++i) {
    while (after < n_b && b[after] < a[i]) ++after;
    std::size_t best = after;
    if (after == n_b || (after > 0 && a[i] - b[after - 1] <= b[after] - a[i])) best = after - 1;
    while (best > 0 && b[best - 1] == b[best]) --best;
    bool within = a[i] > b[n_b - 1] ? a[i] <= b[n_b - 1] + limit
                                    : std::abs(a[i] - b[best]) <= limit && a[i] >= b[0] - limit;
    if (!within) continue;
    pairs[2 * count] = static_cast<std::int64_t>(i);
    pairs[2 * count + 1] = static_cast<std::int64_t>(best);
    ++count;
  }
  return count;
}

}  // namespace wmb
