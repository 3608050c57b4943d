// SPDX-License-Identifier: Apache-2.0
// Pictures of the known-answer world, and rays through it.
#pragma once

#include <cstdint>

#include "core/raycast.h"
#include "cpu/texture.h"

namespace wmb {

struct World {
  Room room;
  const Box* boxes;
  int n_boxes;
  const Texture* textures;  // kFaces a solid: the room, then each box
};

// camera_to_world is 3x4 row-major; pixel (x, y) is looked at along ((x - cx) / fx, (y - cy) / fy, 1).
struct Viewer {
  double camera_to_world[12];
  double fx, fy, cx, cy;
  int width, height;
};

// Depth (z) and identity at the pixels' centres; colour, unless `rgb` is null, as the mean of samples x
// samples rays a pixel.
void render(const World& world, const Viewer& camera, int samples, std::uint8_t* rgb, float* depth,
            std::int32_t* identities);

// How far along each ray (in lengths of its direction) the first solid is, and what it is. Rays are 6
// numbers: origin, direction.
void trace_rays(const World& world, const double* rays, std::int64_t n, double* t, std::int32_t* identities);

}  // namespace wmb
