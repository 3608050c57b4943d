// SPDX-License-Identifier: Apache-2.0
// One item of a batch of trajectories, taken out and checked; and what threads report back.
#pragma once

#include <mutex>

#include "cpu/parallel.h"
#include "cpu/trajectories.h"

namespace wmb {

inline void keep_lowest(std::int64_t& kept, std::int64_t found) {
  if (found >= 0 && (kept < 0 || found < kept)) kept = found;
}

// Collects refusals from threads.
class Refusals {
 public:
  void add(const Refused& found) {
    if (found.est < 0 && found.ref < 0) return;
    std::lock_guard<std::mutex> hold(lock_);
    keep_lowest(kept_.est, found.est);
    keep_lowest(kept_.ref, found.ref);
  }
  Refused kept() const { return kept_; }

 private:
  std::mutex lock_;
  Refused kept_;
};

template <typename T>
Tracks<T> tracks_of(const Tracks<T>& all, const Items& items, std::size_t item) {
  std::size_t begin = all.stride * items.begin(item);
  return {all.est + begin, all.ref + begin, all.stride};
}

inline const std::uint8_t* mask_of(const Items& items, std::size_t item) {
  return items.mask == nullptr ? nullptr : items.mask + items.begin(item);
}

// One item of a batch of poses: what to use of it, and where it lies if poses had to be projected.
template <typename T>
struct CheckedTracks {
  Tracks<T> tracks;
  PoseCheck check;
  std::vector<double> est, ref;  // projected

  const std::uint8_t* mask() const { return check.plain ? nullptr : check.use.data(); }
  Tracks<double> projected() const { return {est.data(), ref.data(), kPose}; }
};

template <typename T>
void check_item(const Tracks<T>& tracks, const Items& items, std::size_t item, CheckedTracks<T>& checked,
                Refused& refused, Problem* gathered) {
  checked.tracks = tracks_of(tracks, items, item);
  checked.check = check_poses(tracks, items, item, refused, gathered);
  if (!checked.check.project) return;
  project_poses(checked.tracks.est, items.size(item), checked.est);
  project_poses(checked.tracks.ref, items.size(item), checked.ref);
}

template <typename T>
void origin_of(const CheckedTracks<T>& checked, Problem& problem) {
  if (checked.check.project)
    fit_origin(checked.projected(), problem);
  else
    fit_origin(checked.tracks, problem);
}

}  // namespace wmb
