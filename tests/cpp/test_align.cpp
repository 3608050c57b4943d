// SPDX-License-Identifier: Apache-2.0
// umeyama, align_trajectory, ape, rotation angles, rpe, associate: known motions, at sizes that no lane
// divides.
#include "check.h"
#include "core/reason.h"
#include "cpu/align.h"
#include "cpu/associate.h"
#include "cpu/rpe.h"

namespace {

using wmb::Align;
using wmb::Items;
using wmb::Reason;

constexpr double kScale = 1.7, kAngle = 0.6, kShift[3] = {3, -2, 1e3};

Reason reason_of(double code) { return static_cast<Reason>(static_cast<int>(code)); }

// Ragged items, end to end.
struct Ragged {
  std::vector<std::int64_t> starts, lengths;
  std::size_t total = 0;

  explicit Ragged(std::vector<std::int64_t> sizes) : lengths(std::move(sizes)) {
    for (std::int64_t n : lengths) {
      starts.push_back(static_cast<std::int64_t>(total));
      total += static_cast<std::size_t>(n);
    }
  }
  Items items(const std::uint8_t* mask = nullptr) const {
    return {lengths.size(), 0, starts.data(), lengths.data(), mask};
  }
};

// Where the known motion takes a point.
void moved(const double* x, double* y) {
  const double c = std::cos(kAngle), s = std::sin(kAngle);
  const double turned[3] = {c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]};
  for (int a = 0; a < 3; ++a) y[a] = kScale * turned[a] + kShift[a];
}

std::vector<double> all_moved(const std::vector<double>& points) {
  std::vector<double> out(points.size());
  for (std::size_t k = 0; k + 2 < points.size(); k += 3) moved(&points[k], &out[k]);
  return out;
}

// Poses that turn about z as they go, 4x4 each.
template <typename T = double>
std::vector<T> poses(std::size_t n, std::uint64_t seed) {
  check::Numbers numbers(seed);
  std::vector<T> out(16 * n, T(0));
  for (std::size_t k = 0; k < n; ++k) {
    const double angle = 3 * numbers.next();
    T* p = &out[16 * k];
    p[0] = p[5] = static_cast<T>(std::cos(angle));
    p[4] = static_cast<T>(std::sin(angle));
    p[1] = -p[4];
    p[10] = p[15] = 1;
    for (int a = 0; a < 3; ++a) p[4 * a + 3] = static_cast<T>(numbers.next());
  }
  return out;
}

TEST(umeyama_finds_the_motion_at_every_size) {
  const Ragged ragged({0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 257, 1023, 0, 5});
  const std::vector<double> x = check::Numbers(3).some(3 * ragged.total), y = all_moved(x);
  const std::vector<double> weights(ragged.total, 0.25);
  CHECK(check::same_everywhere([&] {
    std::vector<double> fits(wmb::kFitRow * ragged.lengths.size());
    check::Bytes bytes;
    for (const double* w : {static_cast<const double*>(nullptr), weights.data()}) {
      wmb::umeyama<double>({x.data(), y.data(), wmb::kPoint}, ragged.items(), w, true, fits.data());
      for (std::size_t i = 0; i < ragged.lengths.size(); ++i) {
        const double* row = &fits[wmb::kFitRow * i];
        if (ragged.lengths[i] < 3) {
          CHECK(reason_of(row[15]) != Reason::ok);
          continue;
        }
        CHECK(reason_of(row[15]) == Reason::ok);
        CHECK_NEAR(row[0], std::cos(kAngle), 1e-12);
        CHECK_NEAR(row[12], kScale, 1e-12);
        CHECK_NEAR(row[11], kShift[2], 1e-9);
        CHECK_NEAR(row[13], 0.0, 1e-9);
      }
      bytes.add(fits);
    }
    return bytes;
  }));
}

TEST(float32_points_and_masks) {
  const Ragged ragged({7, 0, 33, 5});
  const std::vector<float> x = check::Numbers(4).some<float>(3 * ragged.total);
  std::vector<float> y(x);
  for (float& v : y) v *= 2;
  std::vector<std::uint8_t> mask(ragged.total, 1);
  mask[0] = mask[8] = 0;
  y[0] = y[24] = 1e30f;  // what is masked must leave no trace
  std::vector<double> fits(wmb::kFitRow * ragged.lengths.size());
  wmb::umeyama<float>({x.data(), y.data(), wmb::kPoint}, ragged.items(mask.data()), nullptr, true,
                      fits.data());
  for (std::size_t i : {0, 2, 3}) CHECK_NEAR(fits[wmb::kFitRow * i + 12], 2.0, 1e-6);
  CHECK(reason_of(fits[wmb::kFitRow + 15]) == Reason::not_finite);
}

TEST(errors_of_poses_in_every_mode_and_relation) {
  const Ragged ragged({1, 2, 3, 5, 8, 131, 513, 0});
  const std::vector<double> est = poses(ragged.total, 5), ref = poses(ragged.total, 6);
  for (Align align : {Align::sim3, Align::se3, Align::scale, Align::origin, Align::none}) {
    CHECK(check::same_everywhere([&] {
      check::Bytes bytes;
      const wmb::Tracks<double> tracks{est.data(), ref.data(), wmb::kPose};
      std::vector<double> fits(8 * wmb::kFitRow), aligned(16 * ragged.total);
      wmb::align_trajectory(tracks, ragged.items(), {align, -1}, aligned.data(), fits.data());
      bytes.add(fits).add(aligned);
      for (int relation = 0; relation < 6; ++relation) {
        std::vector<double> errors(ragged.total), deviation(8), statistics(8 * wmb::kStatisticsRow);
        const wmb::Refused refused =
            wmb::ape(tracks, ragged.items(), {align, -1}, static_cast<wmb::Relation>(relation), errors.data(),
                     deviation.data(), statistics.data(), fits.data());
        CHECK(refused.est < 0 && refused.ref < 0);
        bytes.add(errors).add(statistics).add(fits);
      }
      return bytes;
    }));
  }
  std::vector<double> errors(ragged.total), deviation(8), statistics(8 * wmb::kStatisticsRow),
      fits(8 * wmb::kFitRow);
  wmb::ape<double>({est.data(), est.data(), wmb::kPose}, ragged.items(), {Align::none, -1},
                   wmb::Relation::full, errors.data(), deviation.data(), statistics.data(), fits.data());
  for (double e : errors) CHECK_NEAR(e, 0.0, 1e-15);
}

TEST(matrices_that_are_no_rotations_are_refused_by_index) {
  std::vector<double> a = poses(5, 7), b = a;
  b[16 * 3] = b[16 * 3 + 5] = -b[16 * 3];  // a mirror
  b[16 * 3 + 1] = b[16 * 3 + 4] = 0;
  b[16 * 3 + 5] = -b[16 * 3];
  std::vector<double> errors(5), deviation(1), statistics(wmb::kStatisticsRow), fits(wmb::kFitRow);
  const wmb::Refused refused = wmb::ape<double>(
      {a.data(), b.data(), wmb::kPose}, {1, 5, nullptr, nullptr, nullptr}, {Align::none, -1},
      wmb::Relation::rotation_deg, errors.data(), deviation.data(), statistics.data(), fits.data());
  CHECK(refused.est == -1 && refused.ref == 3);
  const std::vector<float> eye = {1, 0, 0, 0, 1, 0, 0, 0, 1}, half = {1, 0, 0, 0, -1, 0, 0, 0, -1};
  double angle = 0;
  CHECK(wmb::rotation_angles(eye.data(), half.data(), 1, &angle).est == -1);
  CHECK(angle == 180 / wmb::kDegrees || angle == wmb::kPi);
}

TEST(relative_errors_count_their_pairs_first) {
  const Ragged ragged({0, 1, 2, 3, 5, 17, 130});
  const std::size_t n_items = ragged.lengths.size();
  const std::vector<float> est = poses<float>(ragged.total, 8), ref = poses<float>(ragged.total, 9);
  for (int unit = 0; unit < 4; ++unit) {
    for (bool all : {true, false}) {
      CHECK(check::same_everywhere([&] {
        const wmb::Tracks<float> tracks{est.data(), ref.data(), wmb::kPose};
        const double delta = unit == 0 ? 2 : unit == 2 ? 40 : 0.7;
        const wmb::RpeOptions options{{Align::sim3, -1},
                                      {static_cast<wmb::Unit>(unit), delta, 0.2, all, unit % 2 == 0},
                                      all,
                                      true,
                                      wmb::Relation::point_distance_error_ratio};
        std::vector<std::int64_t> counts(n_items), starts(n_items);
        wmb::count_pairs(tracks, ragged.items(), options, counts.data());
        std::int64_t total = 0;
        for (std::size_t i = 0; i < n_items; ++i) starts[i] = total, total += counts[i];
        const std::size_t n = static_cast<std::size_t>(total);
        std::vector<std::int64_t> pairs(2 * n);
        std::vector<double> errors(3 * n), statistics(3 * n_items * wmb::kStatisticsRow), deviation(n_items),
            fits(n_items * wmb::kFitRow);
        double *e = errors.data(), *s = statistics.data();
        const std::size_t row = n_items * wmb::kStatisticsRow;
        wmb::rpe(tracks, ragged.items(), options,
                 {starts.data(), pairs.data(), e, e + n, e + 2 * n, s, s + row, s + 2 * row, deviation.data(),
                  fits.data()});
        for (std::size_t i = 0; i < n_items; ++i)
          for (std::int64_t k = starts[i]; k < starts[i] + counts[i]; ++k) {
            const std::size_t at = 2 * static_cast<std::size_t>(k);
            CHECK(0 <= pairs[at] && pairs[at] < pairs[at + 1] && pairs[at + 1] < ragged.lengths[i]);
            if (unit == 0) CHECK(pairs[at + 1] == pairs[at] + 2);
          }
        return check::Bytes().add(counts).add(pairs).add(errors).add(statistics);
      }));
    }
  }
}

TEST(stamps_pair_with_their_own) {
  for (std::size_t n : {0, 1, 2, 3, 7, 8, 100}) {
    std::vector<double> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<double>(i), b[i] = a[i] + (i % 2 ? 0.2 : -0.2);
    std::vector<std::int64_t> pairs(2 * n);
    CHECK(wmb::associate_one_to_one(a.data(), n, b.data(), n, 0.3, pairs.data()) == n);
    for (std::size_t i = 0; i < n; ++i) CHECK(pairs[2 * i] == pairs[2 * i + 1]);
    CHECK(wmb::associate_one_to_one(a.data(), n, b.data(), n, 0.1, pairs.data()) == 0);
    CHECK(wmb::associate_nearest(a.data(), n, b.data(), n, 0.3, pairs.data()) == n);
  }
  const double first[] = {0, 0, 1}, second[] = {0, 0.5, 0.5, 1, 1};
  std::vector<std::int64_t> pairs(6);
  CHECK(wmb::associate_one_to_one(first, 3, second, 5, 0.6, pairs.data()) == 3);
  CHECK((pairs == std::vector<std::int64_t>{0, 0, 1, 1, 2, 3}));
}

}  // namespace
