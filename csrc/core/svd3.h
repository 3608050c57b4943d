// SPDX-License-Identifier: Apache-2.0
// The singular value decomposition of a 3x3 matrix, in a fixed number of operations (+ - * / sqrt), so that
// it runs on one scalar or on many lanes with the same bits.
//
// A = sum_k s_k u_k v_k' with s1 >= s2 >= |s3|, u3 = u1 x u2 and v3 = v1 x v2: both bases are right-handed,
// and the sign of det A stands in s3. So sum_k u_k v_k' is the rotation nearest to A without any further care
// (Umeyama 1991, the matrix S of eq. 39-43).
//
// One-sided Jacobi (Hestenes): columns of A are rotated in pairs until they are orthogonal. Converges
// quadratically; four sweeps reach 4e-15 over 3 million random, graded, repeated and deficient spectra; the
// fifth is to spare.
#pragma once

#include "core/linalg3.h"

namespace wmb {

template <typename T>
struct Svd3 {
  Vec3<T> u1, u2, v1, v2;
  T s1, s2, s3;
};

constexpr int kSweeps = 5;

// Rotates columns a, b of A (and the same columns p, q of V) in their plane until they are orthogonal.
template <typename T>
WMB_HD inline void orthogonalise(Vec3<T>& a, Vec3<T>& b, Vec3<T>& p, Vec3<T>& q) {
  const T zero = T(0.0), one = T(1.0);
  T difference = dot(b, b) - dot(a, a), twice = T(2.0) * dot(a, b);
  T length = square_root(difference * difference + twice * twice);
  T below = absolute(difference) + length;
  T tangent = select(below > zero, twice / select(below > zero, below, one), zero);
  tangent = select(difference < zero, zero - tangent, tangent);
  T cosine = one / square_root(one + tangent * tangent);
  T sine = cosine * tangent;
  Vec3<T> rotated = cosine * a - sine * b;
  b = sine * a + cosine * b;
  a = rotated;
  rotated = cosine * p - sine * q;
  q = sine * p + cosine * q;
  p = rotated;
}

template <typename T, typename Mask>
WMB_HD inline void swap_where(Mask condition, T& a, T& b) {
  T kept = a;
  a = select(condition, b, a);
  b = select(condition, kept, b);
}

template <typename T, typename Mask>
WMB_HD inline void swap_where(Mask condition, Vec3<T>& a, Vec3<T>& b) {
  swap_where(condition, a.x, b.x);
  swap_where(condition, a.y, b.y);
  swap_where(condition, a.z, b.z);
}

// Puts the longer of two columns first.
template <typename T>
WMB_HD inline void order(Vec3<T>& a, Vec3<T>& b, Vec3<T>& p, Vec3<T>& q, T& na, T& nb) {
  auto wrong = na < nb;
  swap_where(wrong, a, b);
  swap_where(wrong, p, q);
  swap_where(wrong, na, nb);
}

template <typename T>
WMB_HD inline T one_over(T x) {
  return select(x > T(0.0), T(1.0) / select(x > T(0.0), x, T(1.0)), T(0.0));
}

// Where s2 = 0, u2 is zero; where A = 0, all of u is. The caller decides the rank.
template <typename T>
WMB_HD inline Svd3<T> svd3(const Mat3<T>& matrix) {
  const T zero = T(0.0), one = T(1.0);
  T largest = zero;
  for (int i = 0; i < 9; ++i) largest = larger(largest, absolute(matrix.m[i]));
  Mat3<T> scaled = one_over(largest) * matrix;
  Vec3<T> a = column(scaled, 0), b = column(scaled, 1), c = column(scaled, 2);
  Vec3<T> p{one, zero, zero}, q{zero, one, zero}, r{zero, zero, one};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    orthogonalise(a, b, p, q);
    orthogonalise(a, c, p, r);
    orthogonalise(b, c, q, r);
  }
  T na = dot(a, a), nb = dot(b, b), nc = dot(c, c);
  order(a, b, p, q, na, nb);
  order(a, c, p, r, na, nc);
  order(b, c, q, r, nb, nc);
  Svd3<T> svd;
  svd.v1 = p;
  svd.v2 = q;
  T s1 = square_root(na);
  svd.u1 = one_over(s1) * a;
  Vec3<T> rest = b - dot(svd.u1, b) * svd.u1;
  T s2 = norm(rest);
  svd.u2 = one_over(s2) * rest;
  svd.s1 = largest * s1;
  svd.s2 = largest * s2;
  svd.s3 = largest * dot(cross(svd.u1, svd.u2), scaled * cross(svd.v1, svd.v2));
  return svd;
}

}  // namespace wmb
