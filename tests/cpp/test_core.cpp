// SPDX-License-Identifier: Apache-2.0
// The mathematics of one item. Every header of csrc is included here, so that no two can define one name.
#include "check.h"
#include "core/align.h"
#include "core/assign.h"
#include "core/assign_opis.h"
#include "core/assign_ties.h"
#include "core/cosine.h"
#include "core/flow.h"
#include "core/hull.h"
#include "core/mask.h"
#include "core/match.h"
#include "core/percentile.h"
#include "core/random.h"
#include "core/raycast.h"
#include "core/reason.h"
#include "core/reproject.h"
#include "core/rotation.h"
#include "core/rpe.h"
#include "core/stats.h"
#include "core/svd3.h"
#include "cpu/align.h"
#include "cpu/assign.h"
#include "cpu/assign_opis.h"
#include "cpu/assign_spans.h"
#include "cpu/associate.h"
#include "cpu/batch.h"
#include "cpu/cosine.h"
#include "cpu/flow.h"
#include "cpu/mask.h"
#include "cpu/match.h"
#include "cpu/memory.h"
#include "cpu/pairs.h"
#include "cpu/percentile.h"
#include "cpu/ranks.h"
#include "cpu/raycast.h"
#include "cpu/rays.h"
#include "cpu/reproject.h"
#include "cpu/rpe.h"
#include "cpu/select.h"
#include "cpu/similarity.h"
#include "cpu/stats.h"
#include "cpu/texture.h"
#include "cpu/tiles.h"

namespace {

using wmb::Mat3;
using wmb::Vec3;

Mat3<double> turn_about_z(double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {{c, -s, 0, s, c, 0, 0, 0, 1}};
}

double largest_difference(const Mat3<double>& a, const Mat3<double>& b) {
  double worst = 0;
  for (int i = 0; i < 9; ++i) worst = std::fmax(worst, std::fabs(a.m[i] - b.m[i]));
  return worst;
}

TEST(svd_takes_any_matrix_apart) {
  check::Numbers numbers(1);
  for (int k = 0; k < 300; ++k) {
    Mat3<double> a;
    for (double& x : a.m) x = numbers.next();
    if (k % 5 == 1) a = wmb::outer(row(a, 0), row(a, 1));  // rank one
    if (k % 5 == 2) a.m[0] = a.m[1] = a.m[2] = 0;          // rank two
    if (k % 5 == 3) a = 1e-150 * a;
    if (k == 0) a = 0.0 * a;
    const auto d = wmb::svd3(a);
    const Vec3<double> u3 = cross(d.u1, d.u2), v3 = cross(d.v1, d.v2);
    const Mat3<double> again = d.s1 * outer(d.u1, d.v1) + d.s2 * outer(d.u2, d.v2) + d.s3 * outer(u3, v3);
    CHECK(largest_difference(again, a) <= 1e-14 * d.s1);
    CHECK(d.s1 >= d.s2);
    CHECK(d.s2 >= std::fabs(d.s3) - 1e-15 * d.s1);
    if (d.s1 > 0) CHECK_NEAR(norm(d.u1), 1.0, 1e-14);
    if (d.s1 > 1e-100) CHECK_NEAR(determinant(a), d.s1 * d.s2 * d.s3, 1e-14 * d.s1 * d.s1 * d.s1);
  }
}

TEST(angles_are_exact_at_both_ends) {
  for (double angle : {0.0, 1e-9, 1e-4, 0.3, 1.5, 3.0, 3.14159265}) {
    CHECK_NEAR(wmb::rotation_angle(turn_about_z(angle)), angle, 4e-16 * (1 + angle));
    CHECK_NEAR(wmb::rotation_angle(turn_about_z(-angle)), angle, 4e-16 * (1 + angle));
  }
  CHECK(wmb::rotation_angle(Mat3<double>{{-1, 0, 0, 0, -1, 0, 0, 0, 1}}) == wmb::kPi);
  Mat3<double> bent = 1.02 * turn_about_z(0.7);
  CHECK(largest_difference(wmb::nearest_rotation(bent), turn_about_z(0.7)) < 1e-15);
  CHECK_NEAR(wmb::orthogonality_deviation(bent), 0.0404, 1e-12);
}

TEST(transforms_compose_and_invert) {
  check::Numbers numbers(2);
  for (int k = 0; k < 50; ++k) {
    wmb::Transform m;
    for (auto& r : m.r)
      for (double& x : r) x = numbers.next();
    for (double& x : m.t) x = 100 * numbers.next();
    const wmb::Transform one = compose(m, inverse(m));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) CHECK_NEAR(one.r[i][j], i == j, 1e-9);
      CHECK_NEAR(one.t[i], 0.0, 1e-6);
    }
  }
  CHECK(!is_usable(wmb::inverse(wmb::Transform{})));
}

TEST(random_words_are_those_of_the_paper) {
  const wmb::Random4 zero = wmb::philox({{0, 0, 0, 0}}, 0);
  CHECK(zero.word[0] == 0x6627e8d5 && zero.word[1] == 0xe169c58d);
  CHECK(zero.word[2] == 0xbc57ac4c && zero.word[3] == 0x9b00dbd8);
  const std::uint32_t f = 0xffffffff;
  const wmb::Random4 ones = wmb::philox({{f, f, f, f}}, ~std::uint64_t{0});
  CHECK(ones.word[0] == 0x408f276d && ones.word[1] == 0x41c83b0e);
  CHECK(ones.word[2] == 0xa20bc7c6 && ones.word[3] == 0x6d5451fd);
  CHECK(wmb::below(0xffffffff, 10) == 9 && wmb::below(0, 10) == 0);
}

TEST(hulls_have_their_area) {
  const wmb::Point2 square[] = {{0, 0}, {0, 2}, {1, 1}, {2, 0}, {2, 2}};
  wmb::Point2 chain[11];
  CHECK(wmb::hull_area(square, 5, chain) == 4);
  const wmb::Point2 line[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  CHECK(wmb::hull_area(line, 4, chain) == 0);
  const wmb::Point2 same[] = {{1, 1}, {1, 1}, {1, 1}};
  CHECK(wmb::hull_area(same, 3, chain) == 0);
  CHECK(wmb::hull_area(same, 0, chain) == 0);
}

TEST(percentiles_lie_between_their_neighbours) {
  for (std::size_t n : {1, 2, 3, 10}) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>((7 * i + 3) % n);
    for (double percent : {0.0, 25.0, 50.0, 99.0, 100.0})
      CHECK_NEAR(wmb::percentile(values, percent), percent / 100 * static_cast<double>(n - 1), 1e-12);
  }
}

TEST(probabilities_of_correlations_are_those_of_students_t) {
  // With two degrees of freedom, p = 1 - |r|; with one, p = 1 - (2 / pi) asin |r|.
  for (double r : {0.0, 1e-9, 0.1, 0.5, -0.9, 0.999999, 1.0}) {
    CHECK_NEAR(wmb::correlation_p(r, 2), 1 - std::fabs(r), 1e-14);
    CHECK_NEAR(wmb::correlation_p(r, 1), 1 - 2 / wmb::kPi * std::asin(std::fabs(r)), 1e-14);
  }
  CHECK(wmb::correlation_p(0.5, 1e6) < 1e-300);
}

TEST(shares_of_masks) {
  for (std::size_t n : {0, 1, 15, 16, 17, 4080, 4096, 8193}) {
    std::vector<std::uint8_t> a(n), b(n);
    std::uint64_t both = 0, either = 0;
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = i % 3 == 0 ? 255 : 0, b[i] = i % 2;
      both += i % 3 == 0 && i % 2;
      either += i % 3 == 0 || i % 2;
    }
    const wmb::Overlap found = wmb::overlap(a.data(), b.data(), n);
    CHECK(found.both == both && found.either == either);
  }
}

}  // namespace
