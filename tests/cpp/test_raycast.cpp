// SPDX-License-Identifier: Apache-2.0
// The known-answer world: a room with a box, pictures of odd sizes, textures down to one texel.
#include "check.h"
#include "cpu/raycast.h"

namespace {

// A texture of one colour, `size` texels wide and high, with all its coarser levels.
struct Flat {
  std::vector<std::uint8_t> texels;
  wmb::Texture texture;

  Flat(int width, int height, std::uint8_t level) {
    int levels = 1;
    std::size_t n = 0;
    for (int w = width, h = height;; w = w > 1 ? w / 2 : 1, h = h > 1 ? h / 2 : 1, ++levels) {
      n += 4 * static_cast<std::size_t>(w) * static_cast<std::size_t>(h);
      if (w == 1 && h == 1) break;
    }
    texels.assign(n, level);
    texture = {{texels.data(), width, height}, levels, 100.0};
  }
};

TEST(a_room_with_a_box) {
  const Flat walls(13, 7, 60), box(1, 1, 200);
  std::vector<wmb::Texture> textures(6, walls.texture);
  textures.insert(textures.end(), 6, box.texture);
  const wmb::Box boxes[] = {{{0, 0, 3}, {0.5, 0.5, 0.5}, 0.8, 0.6}};
  const wmb::World world{{{-4, -2, -4}, {4, 2, 5}}, boxes, 1, textures.data()};
  for (int width : {1, 2, 17, 40})
    for (int height : {1, 15, 33}) {
      const wmb::Viewer camera{
          {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, 30, 30, (width - 1) / 2.0, (height - 1) / 2.0, width, height};
      CHECK(check::same_everywhere([&] {
        const std::size_t n = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
        std::vector<std::uint8_t> rgb(3 * n);
        std::vector<float> depth(n), again(n);
        std::vector<std::int32_t> identity(n);
        wmb::render(world, camera, 3, rgb.data(), depth.data(), identity.data());
        wmb::render(world, camera, 1, nullptr, again.data(), identity.data());
        CHECK(depth == again);
        const std::size_t middle = n / 2;
        if (width % 2 && height % 2) {
          CHECK(identity[middle] == 6);
          CHECK(depth[middle] > 2.2f && depth[middle] < 2.5f);
          CHECK(rgb[3 * middle] == 200);
        }
        for (std::size_t i = 0; i < n; ++i) CHECK(identity[i] == 6 || rgb[3 * i] >= 60);
        return check::Bytes().add(rgb).add(depth).add(identity);
      }));
    }
}

TEST(rays_meet_the_first_solid) {
  const wmb::Box boxes[] = {{{0, 0, 3}, {0.5, 0.5, 0.5}, 1, 0}};
  const wmb::World world{{{-4, -2, -4}, {4, 2, 5}}, boxes, 1, nullptr};
  const std::size_t n = 4097 + 13;  // more than a chunk
  std::vector<double> rays(6 * n, 0), t(n);
  for (std::size_t i = 0; i < n; ++i) rays[6 * i + 3 + i % 3] = i % 2 ? 2 : -2;
  std::vector<std::int32_t> identity(n);
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    wmb::trace_rays(world, rays.data(), static_cast<std::int64_t>(n), t.data(), identity.data());
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      const bool boxed = i % 3 == 2 && i % 2;
      const double far = i % 3 == 0 ? 2 : i % 3 == 1 ? 1 : boxed ? 1.25 : 2;
      right = right && t[i] == far && (identity[i] == 6) == boxed;
    }
    CHECK(right);
  }
}

}  // namespace
