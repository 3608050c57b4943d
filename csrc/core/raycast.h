// SPDX-License-Identifier: Apache-2.0
// One ray against the known-answer world: the inside of an axis-aligned room, and boxes turned about the
// vertical.
//
// World axes: x right, y down, z forward. Everything is + - * / and comparisons in a stated order, so the
// bits do not depend on the machine. A face is named by the way the ray looks at it, 2*axis + (direction >
// 0): 0 -x, 1 +x, 2 -y (up), 3 +y (down), 4 -z, 5 +z; so the room's floor and a box's lid are both face 3.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace wmb {

constexpr int kFaces = 6;
constexpr int kNothing = -1;
constexpr double kTooNear = 1e-9;

struct Room {
  double lo[3], hi[3];
};

// Local x and z point along (cosine, 0, -sine) and (sine, 0, cosine) of the world.
struct Box {
  double center[3], half[3], cosine, sine;
};

struct Ray {
  double origin[3], direction[3];
};

// The first thing a ray meets: `solid` is 0 for the room and 1 + b for box b; t is in lengths of the
// direction.
struct Hit {
  double t;
  int solid, face;
};

// Where on its face a hit lies: u, v in [0, 1] run right and down as seen; `slope` is the part of the
// direction along the face's normal, not negative.
struct Spot {
  double u, v, slope;
};

// The wall a ray from inside the room reaches first; of walls reached at once, the one of the lower axis.
WMB_HD inline Hit reach_wall(const Room& room, const Ray& ray) {
  Hit hit{0, kNothing, 0};
  for (int a = 0; a < 3; ++a) {
    double d = ray.direction[a];
    if (d == 0) continue;
    double t = ((d > 0 ? room.hi[a] : room.lo[a]) - ray.origin[a]) / d;
    if (hit.solid == kNothing || t < hit.t) hit.t = t, hit.solid = 0, hit.face = 2 * a + (d > 0);
  }
  return hit;
}

WMB_HD inline void into_box(const Box& box, const double* v, double* local) {
  local[0] = box.cosine * v[0] - box.sine * v[2];
  local[1] = v[1];
  local[2] = box.sine * v[0] + box.cosine * v[2];
}

WMB_HD inline Ray into_box(const Box& box, const Ray& ray) {
  double offset[3];
  for (int a = 0; a < 3; ++a) offset[a] = ray.origin[a] - box.center[a];
  Ray local;
  into_box(box, offset, local.origin);
  into_box(box, ray.direction, local.direction);
  return local;
}

// Makes `best` the place where a ray, in the box's own axes, enters the box, if that comes first.
WMB_HD inline void enter_box(const Box& box, const Ray& local, int solid, Hit& best) {
  double enter = 0, leave = best.t;
  int face = kNothing;
  for (int a = 0; a < 3; ++a) {
    double o = local.origin[a], d = local.direction[a], h = box.half[a];
    if (d == 0) {
      if (o < -h || o > h) return;
      continue;
    }
    double near = ((d > 0 ? -h : h) - o) / d, far = ((d > 0 ? h : -h) - o) / d;
    if (near > enter) enter = near, face = 2 * a + (d > 0);
    if (far < leave) leave = far;
    if (enter > leave) return;
  }
  if (face == kNothing || enter < kTooNear || enter >= best.t) return;
  best.t = enter, best.solid = solid, best.face = face;
}

// The first thing a ray meets, among the room and the boxes named.
WMB_HD inline Hit trace(const Room& room, const Box* boxes, const int* which, int n_which, const Ray& ray) {
  Hit hit = reach_wall(room, ray);
  for (int i = 0; i < n_which; ++i) {
    enter_box(boxes[which[i]], into_box(boxes[which[i]], ray), 1 + which[i], hit);
  }
  return hit;
}

WMB_HD inline double within(double from, double to, double x) {
  double part = (x - from) / (to - from);
  return part < 0 ? 0 : part > 1 ? 1 : part;
}

// The spot that a ray, in the solid's own axes, hits on a solid from lo to hi.
WMB_HD inline Spot spot_on(const double* lo, const double* hi, const Ray& ray, const Hit& hit) {
  int axis = hit.face / 2, right = axis == 0 ? 2 : 0, down = axis == 1 ? 2 : 1;
  auto part = [&](int a) { return within(lo[a], hi[a], ray.origin[a] + hit.t * ray.direction[a]); };
  double u = part(right), v = part(down), along = ray.direction[axis];
  bool flip_u = hit.face == 1 || hit.face == 4, flip_v = hit.face == 3;
  return {flip_u ? 1 - u : u, flip_v ? 1 - v : v, along < 0 ? -along : along};
}

WMB_HD inline Spot spot(const Room& room, const Box* boxes, const Ray& ray, const Hit& hit) {
  if (hit.solid == 0) return spot_on(room.lo, room.hi, ray, hit);
  const Box& box = boxes[hit.solid - 1];
  const double lo[3] = {-box.half[0], -box.half[1], -box.half[2]};
  return spot_on(lo, box.half, into_box(box, ray), hit);
}

// What an identity map holds: 0 to 5 the room's faces, 6 + b box b.
WMB_HD inline std::int32_t identity(const Hit& hit) {
  return hit.solid == 0 ? hit.face : kFaces - 1 + hit.solid;
}

}  // namespace wmb
