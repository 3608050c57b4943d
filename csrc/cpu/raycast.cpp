// SPDX-License-Identifier: Apache-2.0
#include "cpu/raycast.h"

#include <algorithm>
#include <vector>

#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr int kRowsAChunk = 16;
constexpr std::size_t kRaysAChunk = 4096;
constexpr double kNearPlane = 1e-3;
constexpr double kLeastSlope = 1e-6;

// Pixels outside which a box cannot be seen.
struct Rectangle {
  double left, right, top, bottom;
};

Rectangle seen_within(const Viewer& camera, const Box& box) {
  const double everywhere = 1e30;
  Rectangle r{everywhere, -everywhere, everywhere, -everywhere};
  const double* m = camera.camera_to_world;
  for (int corner = 0; corner < 8; ++corner) {
    double lx = corner & 1 ? box.half[0] : -box.half[0], ly = corner & 2 ? box.half[1] : -box.half[1];
    double lz = corner & 4 ? box.half[2] : -box.half[2];
    double world[3] = {box.center[0] + box.cosine * lx + box.sine * lz, box.center[1] + ly,
                       box.center[2] - box.sine * lx + box.cosine * lz};
    double p[3] = {0, 0, 0};
    for (int row = 0; row < 3; ++row) {
      double offset = world[row] - m[4 * row + 3];
      for (int a = 0; a < 3; ++a) p[a] += m[4 * row + a] * offset;
    }
    if (p[2] < kNearPlane) return {-everywhere, everywhere, -everywhere, everywhere};
    double x = camera.fx * p[0] / p[2] + camera.cx, y = camera.fy * p[1] / p[2] + camera.cy;
    r.left = std::min(r.left, x - 1), r.right = std::max(r.right, x + 1);
    r.top = std::min(r.top, y - 1), r.bottom = std::max(r.bottom, y + 1);
  }
  return r;
}

// Rows [first, last) of a picture, and the rays through the pixels there and in the rows next to them.
class Strip {
 public:
  Strip(const World& world, const Viewer& camera, const std::vector<Rectangle>& within, int first, int last)
      : world_(world),
        camera_(camera),
        within_(within),
        above_(std::max(first - 1, 0)),
        which_(within.size()) {
    int below = std::min(last + 1, camera.height);
    std::vector<Ray> rays(camera.width);
    hits_.resize(static_cast<std::size_t>(below - above_) * camera.width);
    for (int y = above_; y < below; ++y) look_along(y, rays.data(), &hits_[index(0, y)]);
  }

  const Hit& at(int x, int y) const { return hits_[index(x, y)]; }

  // One sample where the pixel and its neighbours see one face, else samples x samples.
  void colour(int x, int y, int samples, std::uint8_t* rgb) {
    double pixel = 1.0 / (camera_.fx * camera_.fy);
    Colour colour;
    if (samples == 1 || is_smooth(x, y)) {
      colour = seen(ray_at(x, y), at(x, y), pixel);
    } else {
      colour = Colour{};
      int n = near(x, y);
      double step = 1.0 / samples;
      for (int j = 0; j < samples; ++j) {
        for (int i = 0; i < samples; ++i) {
          Ray ray = ray_at(x + (i + 0.5) * step - 0.5, y + (j + 0.5) * step - 0.5);
          Hit hit = trace(world_.room, world_.boxes, which_.data(), n, ray);
          colour += seen(ray, hit, pixel * step * step);
        }
      }
      colour /= static_cast<float>(samples * samples);
    }
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(colour[c] + 0.5f);
  }

 private:
  std::size_t index(int x, int y) const { return static_cast<std::size_t>(y - above_) * camera_.width + x; }

  // The hits of a row: the walls, then box by box where it may be seen.
  void look_along(int y, Ray* rays, Hit* hits) const {
    for (int x = 0; x < camera_.width; ++x) {
      rays[x] = ray_at(x, y);
      hits[x] = reach_wall(world_.room, rays[x]);
    }
    for (int b = 0; b < world_.n_boxes; ++b) {
      const Rectangle& r = within_[b];
      if (y < r.top || y > r.bottom) continue;
      int from = static_cast<int>(std::max(r.left, 0.0)),
          to = static_cast<int>(std::min<double>(r.right, camera_.width - 1));
      for (int x = from; x <= to; ++x)
        enter_box(world_.boxes[b], into_box(world_.boxes[b], rays[x]), 1 + b, hits[x]);
    }
  }

  // Lists the boxes that may be seen within a pixel of (x, y) in which_, and returns how many.
  int near(int x, int y) {
    int n = 0;
    for (std::size_t b = 0; b < within_.size(); ++b) {
      const Rectangle& r = within_[b];
      if (y >= r.top && y <= r.bottom && x >= r.left && x <= r.right) which_[n++] = static_cast<int>(b);
    }
    return n;
  }

  Ray ray_at(double x, double y) const {
    const double* m = camera_.camera_to_world;
    double a = (x - camera_.cx) / camera_.fx, b = (y - camera_.cy) / camera_.fy;
    Ray ray;
    for (int i = 0; i < 3; ++i) {
      ray.origin[i] = m[4 * i + 3];
      ray.direction[i] = m[4 * i] * a + m[4 * i + 1] * b + m[4 * i + 2];
    }
    return ray;
  }

  bool is_smooth(int x, int y) const {
    const Hit& here = at(x, y);
    auto same = [&](int nx, int ny) {
      if (nx < 0 || ny < 0 || nx >= camera_.width || ny >= camera_.height) return true;
      const Hit& there = at(nx, ny);
      return there.solid == here.solid && there.face == here.face;
    };
    return same(x - 1, y) && same(x + 1, y) && same(x, y - 1) && same(x, y + 1);
  }

  // `pixel` is the solid angle of the sample, seen straight on.
  Colour seen(const Ray& ray, const Hit& hit, double pixel) const {
    Spot spot = wmb::spot(world_.room, world_.boxes, ray, hit);
    double area = hit.t * hit.t * pixel / std::max(spot.slope, kLeastSlope);
    return colour_of(world_.textures[kFaces * hit.solid + hit.face], spot, area);
  }

  const World& world_;
  const Viewer& camera_;
  const std::vector<Rectangle>& within_;
  int above_;
  std::vector<int> which_;
  std::vector<Hit> hits_;
};

}  // namespace

void render(const World& world, const Viewer& camera, int samples, std::uint8_t* rgb, float* depth,
            std::int32_t* identities) {
  FloatEnvironment environment;
  std::vector<Rectangle> seen;
  for (int b = 0; b < world.n_boxes; ++b) seen.push_back(seen_within(camera, world.boxes[b]));
  auto rows = [&](std::size_t chunk) {
    int first = static_cast<int>(chunk) * kRowsAChunk, last = std::min(first + kRowsAChunk, camera.height);
    Strip strip(world, camera, seen, first, last);
    std::int64_t at = static_cast<std::int64_t>(first) * camera.width;
    for (int y = first; y < last; ++y) {
      for (int x = 0; x < camera.width; ++x, ++at) {
        depth[at] = static_cast<float>(strip.at(x, y).t);
        identities[at] = identity(strip.at(x, y));
        if (rgb != nullptr) strip.colour(x, y, samples, rgb + 3 * at);
      }
    }
  };
  for_chunks(chunk_count(camera.height, kRowsAChunk), rows);
}

void trace_rays(const World& world, const double* rays, std::int64_t n, double* t, std::int32_t* identities) {
  std::vector<int> all(world.n_boxes);
  for (int b = 0; b < world.n_boxes; ++b) all[b] = b;
  auto some = [&](std::size_t chunk) {
    std::int64_t first = static_cast<std::int64_t>(chunk * kRaysAChunk);
    for (std::int64_t i = first; i < std::min<std::int64_t>(first + kRaysAChunk, n); ++i) {
      Ray ray;
      std::copy(rays + 6 * i, rays + 6 * i + 3, ray.origin);
      std::copy(rays + 6 * i + 3, rays + 6 * i + 6, ray.direction);
      Hit hit = trace(world.room, world.boxes, all.data(), world.n_boxes, ray);
      t[i] = hit.t;
      identities[i] = identity(hit);
    }
  };
  for_chunks(chunk_count(n, kRaysAChunk), some);
}

}  // namespace wmb
