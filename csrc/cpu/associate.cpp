// SPDX-License-Identifier: Apache-2.0
#include "cpu/associate.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>
#include <vector>

namespace wmb {
namespace {

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

// The closest two stamps of opposite sides always lie in neighbouring runs of the merged row, so it is enough
// to keep those in a queue, and to look at the new neighbours when a run is used up.
class OneToOne {
 public:
  OneToOne(const double* a, std::size_t n_a, const double* b, std::size_t n_b, double limit,
           std::int64_t* pairs)
      : a_(a), b_(b), limit_(limit), pairs_(pairs) {
    std::size_t i = 0, j = 0;
    while (i < n_a || j < n_b) {
      double stamp = j == n_b || (i < n_a && a[i] <= b[j]) ? a[i] : b[j];
      std::size_t i_end = i, j_end = j;
      while (i_end < n_a && a[i_end] == stamp) ++i_end;
      while (j_end < n_b && b[j_end] == stamp) ++j_end;
      while (i < i_end && j < j_end) pair(i++, j++);
      if (i < i_end) append({true, i, i_end, kNone, kNone});
      if (j < j_end) append({false, j, j_end, kNone, kNone});
      i = i_end;
      j = j_end;
    }
    for (std::size_t k = 1; k < runs_.size(); ++k) offer(k - 1, k);
  }

  std::size_t solve() {
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
    return count_;
  }

 private:
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
    pairs_[2 * count_] = static_cast<std::int64_t>(i);
    pairs_[2 * count_ + 1] = static_cast<std::int64_t>(j);
    ++count_;
  }

  const double* a_;
  const double* b_;
  double limit_;
  std::int64_t* pairs_;
  std::size_t count_ = 0;
  std::vector<Run> runs_;
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue_;
};

}  // namespace

std::size_t associate_one_to_one(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                                 double limit, std::int64_t* pairs) {
  std::size_t count = OneToOne(a, n_a, b, n_b, limit, pairs).solve();
  std::vector<std::pair<std::int64_t, std::int64_t>> rows(count);
  for (std::size_t k = 0; k < count; ++k) rows[k] = {pairs[2 * k], pairs[2 * k + 1]};
  std::sort(rows.begin(), rows.end());
  for (std::size_t k = 0; k < count; ++k) {
    pairs[2 * k] = rows[k].first;
    pairs[2 * k + 1] = rows[k].second;
  }
  return count;
}

std::size_t associate_nearest(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                              double limit, std::int64_t* pairs) {
  std::size_t count = 0, after = 0;
  for (std::size_t i = 0; i < n_a && n_b > 0; ++i) {
    while (after < n_b && b[after] < a[i]) ++after;
    std::size_t best = after;
    if (after == n_b || (after > 0 && a[i] - b[after - 1] <= b[after] - a[i])) best = after - 1;
    while (best > 0 && b[best - 1] == b[best]) --best;
    if (!(std::abs(a[i] - b[best]) <= limit)) continue;
    pairs[2 * count] = static_cast<std::int64_t>(i);
    pairs[2 * count + 1] = static_cast<std::int64_t>(best);
    ++count;
  }
  return count;
}

}  // namespace wmb
