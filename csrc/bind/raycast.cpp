// SPDX-License-Identifier: Apache-2.0
#include "cpu/raycast.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>

#include "bind/bind.h"

namespace wmb {
namespace {

// A world out of arrays: room lo and hi; boxes center, half, cosine, sine; one texture a face.
class WorldArrays {
 public:
  WorldArrays(In<double, nb::shape<6>> room, In<double, nb::shape<-1, 8>> boxes,
              In<std::uint8_t, nb::ndim<1>> texels, In<std::int64_t, nb::shape<-1, 4>> table,
              In<double, nb::ndim<1>> density)
      : boxes_(boxes.shape(0)), textures_(table.shape(0)) {
    if (textures_.size() != kFaces * (1 + boxes_.size()) || density.shape(0) != textures_.size()) {
      throw nb::value_error("world: table and density must have a row for each face");
    }
    std::copy(room.data(), room.data() + 3, world_.room.lo);
    std::copy(room.data() + 3, room.data() + 6, world_.room.hi);
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
      const double* row = boxes.data() + 8 * b;
      std::copy(row, row + 3, boxes_[b].center);
      std::copy(row + 3, row + 6, boxes_[b].half);
      boxes_[b].cosine = row[6], boxes_[b].sine = row[7];
    }
    for (std::size_t i = 0; i < textures_.size(); ++i) {
      textures_[i] = texture(table.data() + 4 * i, texels, density.data()[i]);
    }
    world_.boxes = boxes_.data(), world_.n_boxes = static_cast<int>(boxes_.size());
    world_.textures = textures_.data();
  }

  const World& world() const { return world_; }

 private:
  // A row of the table is the place of the first texel, width, height and number of levels.
  static Texture texture(const std::int64_t* row, const In<std::uint8_t, nb::ndim<1>>& texels,
                         double density) {
    Texture texture{{texels.data() + row[0], static_cast<int>(row[1]), static_cast<int>(row[2])},
                    static_cast<int>(row[3]),
                    density};
    Level end = texture.finest;
    for (int i = 0; i < texture.levels; ++i) end = coarser(end);
    if (row[0] < 0 || row[1] < 1 || row[2] < 1 || row[3] < 1 ||
        end.texels > texels.data() + texels.shape(0)) {
      throw nb::value_error("world: table must stay within texels");
    }
    return texture;
  }

  std::vector<Box> boxes_;
  std::vector<Texture> textures_;
  World world_;
};

void render_picture(const WorldArrays& arrays, In<double, nb::shape<4, 4>> camera_to_world,
                    In<double, nb::shape<4>> intrinsics, int samples,
                    std::optional<Out<std::uint8_t, nb::shape<-1, -1, 3>>> rgb, Out<float, nb::ndim<2>> depth,
                    Out<std::int32_t, nb::ndim<2>> identities) {
  const double* k = intrinsics.data();
  Viewer camera{
      {}, k[0], k[1], k[2], k[3], static_cast<int>(depth.shape(1)), static_cast<int>(depth.shape(0))};
  std::copy(camera_to_world.data(), camera_to_world.data() + 12, camera.camera_to_world);
  auto same_size = [&](std::size_t height, std::size_t width) {
    return height == depth.shape(0) && width == depth.shape(1);
  };
  if (!same_size(identities.shape(0), identities.shape(1)) ||
      (rgb && !same_size(rgb->shape(0), rgb->shape(1)))) {
    throw nb::value_error("render: the outputs must have one size");
  }
  std::uint8_t* colours = rgb ? rgb->data() : nullptr;
  nb::gil_scoped_release release;
  render(arrays.world(), camera, samples, colours, depth.data(), identities.data());
}

void trace_some(const WorldArrays& arrays, In<double, nb::shape<-1, 6>> rays, Out<double, nb::ndim<1>> t,
                Out<std::int32_t, nb::ndim<1>> identities) {
  std::size_t n = rays.shape(0);
  if (t.shape(0) != n || identities.shape(0) != n) {
    throw nb::value_error("trace: the outputs must have a place for each ray");
  }
  nb::gil_scoped_release release;
  trace_rays(arrays.world(), rays.data(), static_cast<std::int64_t>(n), t.data(), identities.data());
}

}  // namespace

void bind_raycast(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<WorldArrays>(m, "World")
      .def(nb::init<In<double, nb::shape<6>>, In<double, nb::shape<-1, 8>>, In<std::uint8_t, nb::ndim<1>>,
                    In<std::int64_t, nb::shape<-1, 4>>, In<double, nb::ndim<1>>>(),
           nb::keep_alive<1, 4>(), "room"_a.noconvert(), "boxes"_a.noconvert(), "texels"_a.noconvert(),
           "table"_a.noconvert(), "density"_a.noconvert())
      .def("render", &render_picture, "camera_to_world"_a.noconvert(), "intrinsics"_a.noconvert(),
           "samples"_a, "rgb"_a.noconvert(), "depth"_a.noconvert(), "identities"_a.noconvert())
      .def("trace", &trace_some, "rays"_a.noconvert(), "t"_a.noconvert(), "identities"_a.noconvert());
}

}  // namespace wmb
