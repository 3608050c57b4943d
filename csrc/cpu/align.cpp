// SPDX-License-Identifier: Apache-2.0
#include "cpu/align.h"

#include <algorithm>

#include "cpu/batch.h"

namespace wmb {
namespace {

constexpr std::size_t kGroup = kLanesOfSvd;

constexpr std::size_t kGroupsOfChunk = 4;

// Calls body(first, count, problems) for groups of items, on several threads.
template <typename Body>
void for_groups(std::size_t n_items, const Body& body) {
  auto chunk = [&](std::size_t c) {
    Problem problems[kGroup];
    for (std::size_t g = c * kGroupsOfChunk; g < (c + 1) * kGroupsOfChunk && g * kGroup < n_items; ++g)
      body(g * kGroup, std::min(kGroup, n_items - g * kGroup), problems);
  };
  for_chunks(chunk_count(n_items, kGroup * kGroupsOfChunk), chunk);
}

// Moments of weighted points about their weighted mean, in two passes.
Moments weighted_moments(const Problem& p, const std::vector<double>& weights) {
  Moments m{};
  Vec3<double> x{}, y{};
  auto point = [](const double* from, std::size_t k) {
    return Vec3<double>{from[3 * k], from[3 * k + 1], from[3 * k + 2]};
  };
  for (std::size_t k = 0; k < p.n; ++k) {
    m.weight += weights[k];
    x = x + weights[k] * (point(p.x, k) - point(p.x, 0));
    y = y + weights[k] * (point(p.y, k) - point(p.y, 0));
  }
  m.origin_x = point(p.x, 0) + (1.0 / m.weight) * x;
  m.origin_y = point(p.y, 0) + (1.0 / m.weight) * y;
  for (std::size_t k = 0; k < p.n; ++k) {
    Vec3<double> dx = point(p.x, k) - m.origin_x, dy = point(p.y, k) - m.origin_y;
    m.x = m.x + weights[k] * dx;
    m.y = m.y + weights[k] * dy;
    m.xx += weights[k] * dot(dx, dx);
    m.yy += weights[k] * dot(dy, dy);
    m.yx = m.yx + weights[k] * outer(dy, dx);
  }
  return m;
}

double weighted_sse(const Problem& p, const std::vector<double>& weights) {
  std::vector<double> distance(p.n);
  ErrorSums sums;
  trajectory_kernels().distances(p.x, p.y, p.n, p.n, 0, p.residual, distance.data(), &sums);
  double sum = 0.0;
  for (std::size_t k = 0; k < p.n; ++k) sum += weights[k] * distance[k] * distance[k];
  return sum;
}

// The points whose weight is above zero, with their weights, normalised to a mean of one.
template <typename T>
void collect_weighted(const Tracks<T>& tracks, const std::uint8_t* mask, const double* weights, std::size_t n,
                      Problem& problem, std::vector<double>& kept) {
  std::vector<std::uint8_t> use(n);
  for (std::size_t k = 0; k < n; ++k) use[k] = weights[k] > 0.0 && (mask == nullptr || mask[k] != 0);
  collect(tracks, use.data(), n, -1, problem);
  kept.resize(problem.n);
  double sum = 0.0, largest = 0.0;
  for (std::size_t k = 0; k < problem.n; ++k) largest = std::max(largest, weights[problem.index[k]]);
  for (std::size_t k = 0; k < problem.n; ++k) {
    kept[k] = weights[problem.index[k]] / largest;  // so that neither the sum nor its inverse leaves float64
    sum += kept[k];
  }
  for (double& w : kept) w *= static_cast<double>(problem.n) / sum;
  if (problem.n > 0) problem.moments = weighted_moments(problem, kept);
}

}  // namespace

template <typename T>
void umeyama(const Tracks<T>& tracks, const Items& items, const double* weights, bool with_scale,
             double* fits) {
  for_groups(items.n, [&](std::size_t first, std::size_t count, Problem* problems) {
    std::vector<double> kept[kGroup];
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t item = first + i, n = items.size(item);
      Tracks<T> here = tracks_of(tracks, items, item);
      if (weights == nullptr)
        collect(here, mask_of(items, item), n, -1, problems[i]);
      else
        collect_weighted(here, mask_of(items, item), weights + items.begin(item), n, problems[i], kept[i]);
    }
    fit(problems, count, with_scale ? Align::sim3 : Align::se3, epsilon_of<T>());
    for (std::size_t i = 0; i < count; ++i) {
      const Problem& p = problems[i];
      double sse = p.mean_square * static_cast<double>(p.n_fit);
      if (sse != sse && weights != nullptr)
        sse = weighted_sse(p, kept[i]);
      else if (sse != sse)
        sse = trajectory_kernels().distances(p.x, p.y, p.n, p.n_fit, 0, p.residual, nullptr, nullptr);
      write_fit(p, sse, fits + kFitRow * (first + i));
    }
  });
}

namespace {

// Applies y = M (x - from) + shift + to to a point, or a pose and its rotation. What is not finite becomes
// NaN throughout.
template <typename T>
void transform(const T* from, std::size_t stride, const Residual& r, const Mat3<double>& rotation,
               double* to) {
  double check = 0.0;
  for (std::size_t i = 0; i < stride; ++i) check += static_cast<double>(from[i] - from[i]);
  if (check != 0.0) {
    std::fill_n(to, stride, std::nan(""));
    return;
  }
  std::size_t step = stride == kPoint ? 1 : 4, at = stride == kPoint ? 0 : 3;
  Vec3<double> x{static_cast<double>(from[at]), static_cast<double>(from[at + step]),
                 static_cast<double>(from[at + 2 * step])};
  Vec3<double> y = aligned_point(r, x);
  if (stride == kPose) {
    Mat3<double> pose;
    for (int i = 0; i < 9; ++i) pose.m[i] = static_cast<double>(from[4 * (i / 3) + i % 3]);
    pose = rotation * pose;
    for (int i = 0; i < 9; ++i) to[4 * (i / 3) + i % 3] = pose.m[i];
    for (int i = 12; i < 16; ++i) to[i] = static_cast<double>(from[i]);
  }
  to[at] = y.x;
  to[at + step] = y.y;
  to[at + 2 * step] = y.z;
}

}  // namespace

template <typename T>
Refused align_trajectory(const Tracks<T>& tracks, const Items& items, const FitOptions& options,
                         double* aligned, double* fits) {
  Refusals refusals;
  bool is_pose = tracks.stride == kPose;
  for_groups(items.n, [&](std::size_t first, std::size_t count, Problem* problems) {
    CheckedTracks<T> checked[kGroup];
    Refused refused;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t item = first + i, n = items.size(item);
      if (is_pose) {
        check_item(tracks, items, item, checked[i], refused, &problems[i]);
        collect(checked[i].tracks, checked[i].mask(), n, options.n_fit, problems[i]);
      } else {
        checked[i].tracks = tracks_of(tracks, items, item);
        collect(checked[i].tracks, mask_of(items, item), n, options.n_fit, problems[i]);
      }
    }
    refusals.add(refused);
    fit(problems, count, options.align, epsilon_of<T>());
    for (std::size_t i = 0; i < count; ++i) {
      Problem& p = problems[i];
      std::size_t item = first + i, n = items.size(item);
      if (options.align == Align::origin) origin_of(checked[i], p);
      double sse = trajectory_kernels().distances(p.x, p.y, p.n, p.n_fit, 0, p.residual, nullptr, nullptr);
      write_fit(p, sse, fits + kFitRow * item);
      const Mat3<double> turn = orientation_of(p.fit, options.align);
      double* to = aligned + tracks.stride * items.begin(item);
      for (std::size_t k = 0; k < n; ++k) {
        if (checked[i].check.project)
          transform(checked[i].est.data() + kPose * k, kPose, p.residual, turn, to + kPose * k);
        else
          transform(checked[i].tracks.est + tracks.stride * k, tracks.stride, p.residual, turn,
                    to + tracks.stride * k);
      }
    }
  });
  return refusals.kept();
}

namespace {

void pose_errors(const Tracks<double>& t, std::size_t n, const Problem& p, const Mat3<double>& turn,
                 Relation relation, bool polish, double* errors) {
  trajectory_kernels().pose_errors({t.est, t.ref}, n, p.residual, turn, relation, polish, errors);
}

void pose_errors(const Tracks<float>& t, std::size_t n, const Problem& p, const Mat3<double>& turn,
                 Relation relation, bool polish, double* errors) {
  trajectory_kernels().pose_errors_f32({t.est, t.ref}, n, p.residual, turn, relation, polish, errors);
}

bool of_positions(Relation relation) {
  return relation == Relation::translation || relation == Relation::point_distance;
}

// Distances of an item's points to `errors`, NaN for those left out, and their statistics; returns the sum of
// squares over the fit's.
double point_errors(const Problem& p, std::size_t n, std::vector<double>& held, std::vector<double>& scratch,
                    double* errors, double* statistics) {
  const auto& kernels = trajectory_kernels();
  ErrorSums sums;
  if (!p.whole) held.resize(p.n + 1);
  double* distances = p.whole ? errors : held.data();
  double sse = kernels.distances(p.x, p.y, p.n, p.n_fit, kGroup * kPoint * n, p.residual, distances, &sums);
  if (sums.squares == sums.squares)
    summarise(distances, p.n, sums, scratch, statistics);
  else  // the fit has nothing to stand on
    summarise(distances, p.n, scratch, statistics);
  if (p.whole) return sse;
  std::fill_n(errors, n, std::nan(""));
  for (std::size_t k = 0; k < p.n; ++k) errors[p.index[k]] = held[k];
  return sse;
}

template <typename T>
void orientation_errors(const CheckedTracks<T>& checked, std::size_t n, const Problem& p, Align align,
                        Relation relation, double* errors) {
  const Mat3<double> turn = orientation_of(p.fit, align);
  const PoseCheck& check = checked.check;
  if (check.project)
    pose_errors(checked.projected(), n, p, turn, relation, check.polish, errors);
  else
    pose_errors(checked.tracks, n, p, turn, relation, check.polish, errors);
  if (check.plain) return;
  for (std::size_t k = 0; k < n; ++k)
    if (check.use[k] == 0) errors[k] = std::nan("");
}

}  // namespace

template <typename T>
Refused ape(const Tracks<T>& tracks, const Items& items, const FitOptions& options, Relation relation,
            double* errors, double* deviation, double* statistics, double* fits) {
  Refusals refusals;
  const bool is_pose = tracks.stride == kPose;
  for_groups(items.n, [&](std::size_t first, std::size_t count, Problem* problems) {
    CheckedTracks<T> checked[kGroup];
    std::vector<double> held, scratch;
    Refused refused;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t item = first + i, n = items.size(item);
      if (is_pose) check_item(tracks, items, item, checked[i], refused, &problems[i]);
      const std::uint8_t* mask = is_pose ? checked[i].mask() : mask_of(items, item);
      // The same item of the next group most often lies a group's length further on.
      collect(tracks_of(tracks, items, item), mask, n, options.n_fit, problems[i], kGroup * kPoint * n);
    }
    refusals.add(refused);
    fit(problems, count, options.align, epsilon_of<T>());
    for (std::size_t i = 0; i < count; ++i) {
      Problem& p = problems[i];
      std::size_t item = first + i, n = items.size(item);
      double* row = errors + items.begin(item);
      if (options.align == Align::origin) origin_of(checked[i], p);
      deviation[item] = checked[i].check.deviation;
      double* summary = statistics + kStatisticsRow * item;
      write_fit(p, point_errors(p, n, held, scratch, row, summary), fits + kFitRow * item);
      if (of_positions(relation)) continue;
      orientation_errors(checked[i], n, p, options.align, relation, row);
      summarise(row, n, scratch, summary);
    }
  });
  return refusals.kept();
}

template <typename T>
Refused rotation_angles(const T* a, const T* b, std::size_t n, double* angles) {
  Refusals refusals;
  auto angle = [&](std::size_t k, Refused& refused) {
    Mat3<double> pair[2];
    std::int64_t* first_bad[2] = {&refused.est, &refused.ref};
    bool polish = false;
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 9; ++i) pair[side].m[i] = static_cast<double>((side == 0 ? a : b)[9 * k + i]);
      double d = orthogonality_deviation(pair[side]), det = determinant(pair[side]);
      if (!std::all_of(pair[side].m, pair[side].m + 9, [](double x) { return std::isfinite(x); }))
        return std::nan("");
      if (!(det >= 0.0 && d <= kRefuseAbove)) {
        keep_lowest(*first_bad[side], static_cast<std::int64_t>(k));
        return std::nan("");
      }
      if (d > kAsIs) pair[side] = nearest_rotation(pair[side]);
      polish |= d > kPolishAbove;
    }
    return error_angle(transposed_times(pair[0], pair[1]), polish);
  };
  constexpr std::size_t kChunk = 1024;
  auto chunk = [&](std::size_t c) {
    Refused refused;
    for (std::size_t k = c * kChunk; k < std::min(n, (c + 1) * kChunk); ++k) angles[k] = angle(k, refused);
    refusals.add(refused);
  };
  for_chunks(chunk_count(n, kChunk), chunk);
  return refusals.kept();
}

#define WMB_INSTANTIATE(T)                                                                                   \
  template void umeyama<T>(const Tracks<T>&, const Items&, const double*, bool, double*);                    \
  template Refused align_trajectory<T>(const Tracks<T>&, const Items&, const FitOptions&, double*, double*); \
  template Refused ape<T>(const Tracks<T>&, const Items&, const FitOptions&, Relation, double*, double*,     \
                          double*, double*);                                                                 \
  template Refused rotation_angles<T>(const T*, const T*, std::size_t, double*);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb
