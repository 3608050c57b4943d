// SPDX-License-Identifier: Apache-2.0
// The loops of the align family over a batch. Items are worked on in groups of four, whose decompositions run
// side by side; an item's result does not depend on its group. `fits` and `statistics` get one row an item.
#pragma once

#include "cpu/trajectories.h"

namespace wmb {

// `weights`, one a point, may be null.
template <typename T>
void umeyama(const Tracks<T>& tracks, const Items& items, const double* weights, bool with_scale,
             double* fits);

// Writes the aligned poses, or points, of the estimate.
template <typename T>
Refused align_trajectory(const Tracks<T>& tracks, const Items& items, const FitOptions& options,
                         double* aligned, double* fits);

// Absolute errors of every pose (NaN where one does not count) and their statistics. `deviation`: one an
// item, the largest max |R'R - I| met; zero where no rotation was looked at.
template <typename T>
Refused ape(const Tracks<T>& tracks, const Items& items, const FitOptions& options, Relation relation,
            double* errors, double* deviation, double* statistics, double* fits);

// max |R'R - I| and angle of n pairs of 3x3 matrices, radians; the angle is NaN and `refused` set where one
// is not a rotation.
template <typename T>
Refused rotation_angles(const T* a, const T* b, std::size_t n, double* angles);

}  // namespace wmb
