// SPDX-License-Identifier: Apache-2.0
// What the faces of the known-answer world look like at a spot: textures with their coarser levels. Four
// channels go together, in the compiler's own vectors, so this stays with the loops of the host.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/raycast.h"

namespace wmb {

// One level of a texture, RGBX; the next one, half its size (at least 1), lies behind it.
struct Level {
  const std::uint8_t* texels;
  int width, height;
};

struct Texture {
  Level finest;
  int levels;
  double density;  // texels a square metre of the face it covers
};

inline Level coarser(const Level& level) {
  return {level.texels + 4 * static_cast<std::int64_t>(level.width) * level.height,
          level.width > 1 ? level.width / 2 : 1, level.height > 1 ? level.height / 2 : 1};
}

// Four floats at once: the compiler's own vectors, each lane with the bits of scalar code.
typedef float Colour __attribute__((vector_size(16)));

// The bytes of a texel, taken apart by masks and exact powers of two (the first byte is the lowest).
inline Colour colour_at(const std::uint8_t* texel) {
  typedef std::int32_t Words __attribute__((vector_size(16)));
  std::int32_t word;
  std::memcpy(&word, texel, 4);
  Words bytes = Words{word, word, word, 0} & Words{0xff, 0xff00, 0xff0000, 0};
  return __builtin_convertvector(bytes, Colour) * Colour{1.0f, 1.0f / 256, 1.0f / 65536, 0.0f};
}

// The bilinear value at (u, v); texel centres stand at (i + 1/2) / size.
inline Colour bilinear(const Level& level, float u, float v) {
  float x = u * static_cast<float>(level.width) - 0.5f, y = v * static_cast<float>(level.height) - 0.5f;
  x = x < 0 ? 0 : x, y = y < 0 ? 0 : y;
  int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
  int right = x0 + 1 < level.width ? 4 : 0, down = y0 + 1 < level.height ? 4 * level.width : 0;
  float fx = x - static_cast<float>(x0), fy = y - static_cast<float>(y0);
  const std::uint8_t* texel = level.texels + 4 * (static_cast<std::int64_t>(y0) * level.width + x0);
  Colour a = colour_at(texel), b = colour_at(texel + right);
  Colour p = colour_at(texel + down), q = colour_at(texel + down + right);
  Colour above = a + fx * (b - a), below = p + fx * (q - p);
  return above + fy * (below - above);
}

// log2, linear between powers of two: exact at them, and made of integer operations. x > 0.
inline float coarse_log2(float x) {
  std::int32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<float>(bits - 0x3f800000) * (1.0f / 8388608.0f);
}

// The colour (0 to 255) where a sample covers `area` square metres of a texture: between the two levels whose
// texels are nearest to that size.
inline Colour colour_of(const Texture& texture, const Spot& spot, double area) {
  float wanted = 0.5f * coarse_log2(static_cast<float>(area * texture.density) + 1e-12f);
  float last = static_cast<float>(texture.levels - 1);
  wanted = wanted < 0 ? 0 : wanted > last ? last : wanted;
  int fine = static_cast<int>(wanted);
  float blend = wanted - static_cast<float>(fine);
  Level level = texture.finest;
  for (int i = 0; i < fine; ++i) level = coarser(level);
  float u = static_cast<float>(spot.u), v = static_cast<float>(spot.v);
  Colour colour = bilinear(level, u, v);
  return blend > 0 ? colour + blend * (bilinear(coarser(level), u, v) - colour) : colour;
}

}  // namespace wmb
