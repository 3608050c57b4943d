// SPDX-License-Identifier: Apache-2.0
#include "cpu/reproject.h"

#include <nanobind/stl/optional.h>

#include "bind/bind.h"

namespace wmb {
namespace {

using nb::arg;
using Cameras = In<double, nb::shape<-1, 4>>;      // fx, fy, cx, cy
using Transforms = In<double, nb::shape<-1, 12>>;  // R row by row, then t
using Numbers = In<std::int64_t, nb::ndim<1>>;     // which map an item uses
using Counts = Out<std::int64_t, nb::ndim<1>>;
using Values = Out<double, nb::ndim<1>>;
using Codes = Out<std::uint8_t, nb::ndim<1>>;
using Flags = Out<std::uint8_t, nb::ndim<1>>;
template <typename T>
using Stack = In<T, nb::ndim<3>>;  // maps, rows, columns
template <typename T>
using Flat = Out<T, nb::ndim<1>>;

static_assert(sizeof(Camera) == 4 * sizeof(double) && sizeof(Transform) == 12 * sizeof(double));

const Camera* of(const Cameras& a) { return reinterpret_cast<const Camera*>(a.data()); }
const Transform* of(const Transforms& a) { return reinterpret_cast<const Transform*>(a.data()); }
Passages passages_of(const Transforms& to, const Cameras& source, const Cameras& destination) {
  return {static_cast<std::int64_t>(to.shape(0)), of(to), of(source), of(destination)};
}
template <typename T>
Maps<T> maps_of(const Stack<T>& depth, const Numbers& number) {
  return {depth.data(), static_cast<std::int64_t>(depth.shape(1)), static_cast<std::int64_t>(depth.shape(2)),
          number.data()};
}

template <typename T>
void project(In<T, nb::ndim<3>> points, Cameras cameras, Transforms to_camera, Flat<T> pixels, Flat<T> depth,
             Flags valid) {
  nb::gil_scoped_release release;
  project_points(points.data(), points.shape(0), points.shape(1), of(cameras), of(to_camera), pixels.data(),
                 depth.data(), valid.data());
}

template <typename T>
void unproject(Stack<T> depth, Numbers number, Cameras cameras, Flat<T> points) {
  nb::gil_scoped_release release;
  unproject_depth(maps_of(depth, number), number.shape(0), of(cameras), points.data());
}

template <typename T>
void reproject(Stack<T> depth, Numbers number, Transforms to, Cameras source, Cameras destination,
               std::int64_t height, std::int64_t width, Flat<T> pixels, Flat<T> z, Flags valid) {
  nb::gil_scoped_release release;
  reproject_depth(maps_of(depth, number), passages_of(to, source, destination), height, width, pixels.data(),
                  z.data(), valid.data());
}

template <typename T>
void splat(Stack<T> depth, Numbers number, Transforms to, Cameras source, Cameras destination,
           std::int64_t height, std::int64_t width, Flat<T> z, Counts index, Flags valid) {
  nb::gil_scoped_release release;
  splat_depth(maps_of(depth, number), passages_of(to, source, destination), height, width, z.data(),
              index.data(), valid.data());
}

template <typename T>
void agreement(Stack<T> source, Numbers source_number, Stack<T> destination, Numbers destination_number,
               Transforms to, Cameras source_camera, Cameras destination_camera, double lo, double hi,
               bool bilinear, Values median, Counts asked, Counts covisible, Codes code) {
  nb::gil_scoped_release release;
  depth_agreement(maps_of(source, source_number), maps_of(destination, destination_number),
                  passages_of(to, source_camera, destination_camera), static_cast<T>(lo), static_cast<T>(hi),
                  bilinear, {median.data(), asked.data(), covisible.data(), code.data()});
}

template <typename T>
void error(In<T, nb::ndim<4>> depth, std::optional<In<T, nb::ndim<4>>> confidence, Transforms to_world,
           Cameras cameras, std::int64_t grid, std::int64_t min_points, double lo, double hi,
           double confidence_quantile, bool pixels, Values median, Values mean, Values per_pair,
           Counts n_pairs, Counts inside, Counts covisible, Codes code) {
  Clips<T> clips{static_cast<std::int64_t>(depth.shape(0)),
                 static_cast<std::int64_t>(depth.shape(1)),
                 static_cast<std::int64_t>(depth.shape(2)),
                 static_cast<std::int64_t>(depth.shape(3)),
                 depth.data(),
                 confidence ? confidence->data() : nullptr,
                 of(to_world),
                 of(cameras)};
  nb::gil_scoped_release release;
  reprojection_error(clips, {grid, min_points, lo, hi, confidence_quantile, pixels},
                     {median.data(), mean.data(), per_pair.data(), n_pairs.data(), inside.data(),
                      covisible.data(), code.data()});
}

template <typename T>
void see(In<T, nb::ndim<4>> points, Stack<T> depth, Numbers number, std::optional<Stack<T>> confidence,
         Cameras cameras, Transforms to_camera, In<double, nb::shape<7>> rule, Codes state) {
  VisibilityRule limits{rule(0), rule(1), rule(2), rule(3), rule(4), rule(5), rule(6)};
  nb::gil_scoped_release release;
  visibility(points.data(), points.shape(1), points.shape(2), maps_of(depth, number),
             confidence ? confidence->data() : nullptr, points.shape(0), of(cameras), of(to_camera), limits,
             state.data());
}

template <typename T>
void see_samples(In<T, nb::shape<-1, -1, 2>> pixels, In<T, nb::ndim<2>> depth, In<T, nb::ndim<2>> seen,
                 std::optional<In<T, nb::ndim<2>>> confidence, Numbers lengths,
                 In<double, nb::shape<-1, 2>> sizes, In<double, nb::shape<7>> rule, bool with_area,
                 Codes state, Values inside, Values known, Values occluded, Values visible, Values area) {
  VisibilityRule limits{rule(0), rule(1), rule(2), rule(3), rule(4), rule(5), rule(6)};
  Samples<T> samples{static_cast<std::int64_t>(depth.shape(0)),
                     static_cast<std::int64_t>(depth.shape(1)),
                     pixels.data(),
                     depth.data(),
                     seen.data(),
                     confidence ? confidence->data() : nullptr,
                     lengths.data(),
                     sizes.data()};
  nb::gil_scoped_release release;
  sampled_visibility(
      samples, limits, with_area,
      {state.data(), inside.data(), known.data(), occluded.data(), visible.data(), area.data()});
}

template <typename T>
void bind_reproject_of(nb::module_& m) {
  m.def("project", &project<T>, arg("points").noconvert(), arg("cameras").noconvert(),
        arg("to_camera").noconvert(), arg("pixels").noconvert(), arg("depth").noconvert(),
        arg("valid").noconvert());
  m.def("unproject", &unproject<T>, arg("depth").noconvert(), arg("number").noconvert(),
        arg("cameras").noconvert(), arg("points").noconvert());
  m.def("reproject_depth", &reproject<T>, arg("depth").noconvert(), arg("number").noconvert(),
        arg("to").noconvert(), arg("source").noconvert(), arg("destination").noconvert(), arg("height"),
        arg("width"), arg("pixels").noconvert(), arg("z").noconvert(), arg("valid").noconvert());
  m.def("splat_depth", &splat<T>, arg("depth").noconvert(), arg("number").noconvert(), arg("to").noconvert(),
        arg("source").noconvert(), arg("destination").noconvert(), arg("height"), arg("width"),
        arg("z").noconvert(), arg("index").noconvert(), arg("valid").noconvert());
  m.def("depth_agreement", &agreement<T>, arg("source").noconvert(), arg("source_number").noconvert(),
        arg("destination").noconvert(), arg("destination_number").noconvert(), arg("to").noconvert(),
        arg("source_camera").noconvert(), arg("destination_camera").noconvert(), arg("lo"), arg("hi"),
        arg("bilinear"), arg("median").noconvert(), arg("asked").noconvert(), arg("covisible").noconvert(),
        arg("code").noconvert());
  m.def("reprojection_error", &error<T>, arg("depth").noconvert(), arg("confidence").noconvert().none(),
        arg("to_world").noconvert(), arg("cameras").noconvert(), arg("grid"), arg("min_points"), arg("lo"),
        arg("hi"), arg("confidence_quantile"), arg("pixels"), arg("median").noconvert(),
        arg("mean").noconvert(), arg("per_pair").noconvert(), arg("n_pairs").noconvert(),
        arg("inside").noconvert(), arg("covisible").noconvert(), arg("code").noconvert());
  m.def("visibility", &see<T>, arg("points").noconvert(), arg("depth").noconvert(), arg("number").noconvert(),
        arg("confidence").noconvert().none(), arg("cameras").noconvert(), arg("to_camera").noconvert(),
        arg("rule").noconvert(), arg("state").noconvert());
  m.def("sampled_visibility", &see_samples<T>, arg("pixels").noconvert(), arg("depth").noconvert(),
        arg("seen").noconvert(), arg("confidence").noconvert().none(), arg("lengths").noconvert(),
        arg("sizes").noconvert(), arg("rule").noconvert(), arg("with_area"), arg("state").noconvert(),
        arg("inside").noconvert(), arg("known").noconvert(), arg("occluded").noconvert(),
        arg("visible").noconvert(), arg("area").noconvert());
}

}  // namespace

void bind_reproject(nb::module_& m) {
  bind_reproject_of<float>(m);
  bind_reproject_of<double>(m);
}

}  // namespace wmb
