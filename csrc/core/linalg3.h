// SPDX-License-Identifier: Apache-2.0
// Three-vectors and 3x3 matrices (row-major), on any scalar of scalar.h. Every sum runs from left to right.
#pragma once

#include "core/scalar.h"

namespace wmb {

template <typename T>
struct Vec3 {
  T x, y, z;
};

template <typename T>
struct Mat3 {
  T m[9];
};

template <typename T>
WMB_HD inline Vec3<T> operator+(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}

template <typename T>
WMB_HD inline Vec3<T> operator-(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}

template <typename T>
WMB_HD inline Vec3<T> operator*(T s, const Vec3<T>& a) {
  return {s * a.x, s * a.y, s * a.z};
}

template <typename T>
WMB_HD inline T dot(const Vec3<T>& a, const Vec3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

template <typename T>
WMB_HD inline Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <typename T>
WMB_HD inline T norm(const Vec3<T>& a) {
  return square_root(dot(a, a));
}

template <typename T>
WMB_HD inline Vec3<T> row(const Mat3<T>& a, int i) {
  return {a.m[3 * i], a.m[3 * i + 1], a.m[3 * i + 2]};
}

template <typename T>
WMB_HD inline Vec3<T> column(const Mat3<T>& a, int j) {
  return {a.m[j], a.m[3 + j], a.m[6 + j]};
}

template <typename T>
WMB_HD inline Vec3<T> operator*(const Mat3<T>& a, const Vec3<T>& v) {
  return {dot(row(a, 0), v), dot(row(a, 1), v), dot(row(a, 2), v)};
}

// a' v
template <typename T>
WMB_HD inline Vec3<T> transposed_times(const Mat3<T>& a, const Vec3<T>& v) {
  return {dot(column(a, 0), v), dot(column(a, 1), v), dot(column(a, 2), v)};
}

template <typename T>
WMB_HD inline Mat3<T> operator*(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c.m[3 * i + j] = dot(row(a, i), column(b, j));
  return c;
}

// a' b
template <typename T>
WMB_HD inline Mat3<T> transposed_times(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c.m[3 * i + j] = dot(column(a, i), column(b, j));
  return c;
}

template <typename T>
WMB_HD inline Mat3<T> operator*(T s, const Mat3<T>& a) {
  Mat3<T> c;
  for (int i = 0; i < 9; ++i) c.m[i] = s * a.m[i];
  return c;
}

template <typename T>
WMB_HD inline Mat3<T> operator+(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> c;
  for (int i = 0; i < 9; ++i) c.m[i] = a.m[i] + b.m[i];
  return c;
}

template <typename T>
WMB_HD inline Mat3<T> operator-(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> c;
  for (int i = 0; i < 9; ++i) c.m[i] = a.m[i] - b.m[i];
  return c;
}

// a b'
template <typename T>
WMB_HD inline Mat3<T> outer(const Vec3<T>& a, const Vec3<T>& b) {
  return {
      {a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.x, a.y * b.y, a.y * b.z, a.z * b.x, a.z * b.y, a.z * b.z}};
}

WMB_HD inline Mat3<double> identity3() { return {{1, 0, 0, 0, 1, 0, 0, 0, 1}}; }

WMB_HD inline double determinant(const Mat3<double>& a) {
  return dot(cross(row(a, 0), row(a, 1)), row(a, 2));
}

}  // namespace wmb
