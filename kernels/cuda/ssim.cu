// SPDX-License-Identifier: Apache-2.0
// Structural similarity. Bound by arithmetic in float64, some 120 operations a window of the Gaussian, so all
// is done to keep that fed.
//
// A block walks down a band of rows of a plane. 128 columns are summed downwards in registers, each by two
// threads, one for a and b and one for a^2 + b^2 and a b. The sums of eight rows at a time go to shared
// memory, where a thread takes those of four windows next to each other and sums them along the row: a sum is
// read 3.5 times for eleven windows. Meanwhile the next eight rows of pixels are on their way. A pixel
// comes from memory about once: the two threads of a column, strips and bands next to each other, and the
// channels of interleaved colours, which are blocks next to each other, find it in the caches.
#include <cmath>
#include <type_traits>

#include "core/image.h"
#include "cuda/image.h"
#include "cuda/launch.h"
#include "cuda/parts.h"
#include "cuda/reduce.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 256, kColumns = 128;
constexpr int kRows = 8;   // that are summed along at once
constexpr int kGroup = 4;  // windows that a thread sums along
constexpr std::size_t kBandRows = 96;
static_assert(kThreads == 2 * kColumns && kRows * kColumns == kThreads * kGroup);

// Where samples lie, and which windows a block has.
struct Layout {
  std::int64_t height, width;
  std::size_t item_step, plane_step, row_step, pixel_step;
  std::size_t red, green, blue;  // from a pixel on, where grey is wanted
  double low;
  std::int64_t margin;
  std::size_t rows, columns, n_bands, n_strips;  // of windows
  std::size_t band_rows, strip_columns;
};

// The windows of a block, and the row and the column of its first pixel, which may lie beyond the image.
struct Place {
  int n_rows, n_columns;
  std::int64_t top, left;
  std::size_t plane;  // where its plane begins
};

template <typename N>
__device__ constexpr N smaller(N a, N b) {
  return a < b ? a : b;
}

__device__ inline Place place_of(const Layout& in, int radius) {
  const std::size_t strip = blockIdx.x % in.n_strips, above = blockIdx.x / in.n_strips;
  const std::size_t first_row = above % in.n_bands * in.band_rows, first_column = strip * in.strip_columns;
  return {static_cast<int>(smaller(in.band_rows, in.rows - first_row)),
          static_cast<int>(smaller(in.strip_columns, in.columns - first_column)),
          static_cast<std::int64_t>(first_row) + in.margin - radius,
          static_cast<std::int64_t>(first_column) + in.margin - radius,
          blockIdx.y * in.item_step + above / in.n_bands * in.plane_step};
}

// What is held of a pixel until it is worked on.
template <typename T, bool kGrey>
struct Pixel {
  using Held = T;
  static __device__ Held at(const T* pixel, const Layout&) { return *pixel; }
};
template <typename T>
struct Pixel<T, true> {
  using Held = std::conditional_t<std::is_same_v<T, std::uint8_t>, std::uint8_t, double>;
  static __device__ Held at(const T* pixel, const Layout& in) {
    return grey(Held(pixel[in.red]), Held(pixel[in.green]), Held(pixel[in.blue]));
  }
};

// The pixels of a column of a block, of N rows at once. Beyond the last row and column stand the last.
template <typename T, bool kGrey, int N>
struct Pixels {
  typename Pixel<T, kGrey>::Held a[N], b[N];

  __device__ void fetch(const T* from_a, const T* from_b, const std::size_t* row_offset, const Layout& in) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      a[k] = Pixel<T, kGrey>::at(from_a + row_offset[k], in);
      b[k] = Pixel<T, kGrey>::at(from_b + row_offset[k], in);
    }
  }
};

struct Gaussian {
  using Sum = double;
  static constexpr int kRadius = kGaussianRadius;
  static __device__ double add(int distance, double value, double sum) {
    constexpr double kWeights[] = {kGaussian[0], kGaussian[1], kGaussian[2],
                                   kGaussian[3], kGaussian[4], kGaussian[5]};
    return std::fma(kWeights[distance], value, sum);
  }
};

// Of bytes in whole numbers.
template <typename S>
struct Uniform {
  using Sum = S;
  static constexpr int kRadius = kUniformRadius;
  static __device__ S add(int, S value, S sum) { return sum + value; }
};

__device__ constexpr int distance(int k, int radius) { return k < radius ? radius - k : k - radius; }

// The windowed sums down a column, of a and b or of a^2 + b^2 and a b. A value is added at once to every sum
// that it belongs to, and none is kept.
template <typename Window>
struct Column {
  using Sum = typename Window::Sum;
  static constexpr int kDeep = 2 * Window::kRadius;
  bool products;
  double low;
  Sum begun[2][kDeep] = {};  // by the number of values that they have already, less one
  Sum full[2] = {};

  template <typename Held>
  __device__ Sum value(Held held) const {
    if constexpr (std::is_same_v<Held, std::uint8_t>)
      return static_cast<Sum>(held);
    else
      return static_cast<double>(held) - low;
  }

  template <typename Held>
  __device__ void enter(Held a, Held b) {
    Sum two[2] = {value(a), value(b)};
    if (products) {
      const Sum squares = two[0] * two[0] + two[1] * two[1];
      two[1] *= two[0];
      two[0] = squares;
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      full[m] = Window::add(Window::kRadius, two[m], begun[m][kDeep - 1]);
#pragma unroll
      for (int k = kDeep - 1; k > 0; --k)
        begun[m][k] = Window::add(distance(k, Window::kRadius), two[m], begun[m][k - 1]);
      begun[m][0] = Window::add(Window::kRadius, two[m], Sum{0});
    }
  }
};

// The sums of a few rows: of a, of b, of a^2 + b^2 and of a b. Threads of a quarter of a warp take 16 bytes
// at a time of eight rows, which lie so that these are in different banks.
template <typename Sum>
struct Rows {
  static constexpr int kPacket = 16 / sizeof(Sum);
  static constexpr int kWide = kColumns + kGroup, kRow = 4 * kWide + kPacket;
  static_assert(kRow / kPacket % 2 == 1);
  alignas(16) Sum sum[kRows * kRow];
};

// The sums of kGroup windows, of columns that begin at `from`.
template <typename Window, typename Sum>
__device__ inline void sum_along(const Sum* from, Sum (&sums)[kGroup][4]) {
  constexpr int kRadius = Window::kRadius, kPacket = Rows<Sum>::kPacket;
  constexpr int kPackets = (kGroup + 2 * kRadius + kPacket - 1) / kPacket;
  struct alignas(16) Packet {
    Sum sum[kPacket];
  };
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    Packet packet[kPackets];
#pragma unroll
    for (int p = 0; p < kPackets; ++p)
      packet[p] = reinterpret_cast<const Packet*>(from + m * Rows<Sum>::kWide)[p];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      sums[i][m] = Sum{0};
#pragma unroll
      for (int k = 0; k <= 2 * kRadius; ++k)
        sums[i][m] =
            Window::add(distance(k, kRadius), packet[(i + k) / kPacket].sum[(i + k) % kPacket], sums[i][m]);
    }
  }
}

// The sum of the similarities of the first n of these windows.
template <typename Sum>
__device__ inline double similarity(const Sum (&sums)[kGroup][4], int n, const SsimRule& rule) {
  SsimFraction<double> fraction[kGroup];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    const double four[4] = {static_cast<double>(sums[i][0]), static_cast<double>(sums[i][1]),
                            static_cast<double>(sums[i][2]), static_cast<double>(sums[i][3])};
    fraction[i] = i < n ? ssim_of(four, rule) : SsimFraction<double>{0, 1};
  }
  return sum_of(fraction[0], fraction[1]) + sum_of(fraction[2], fraction[3]);
}

template <typename T, typename Window, bool kGrey>
__global__ void __launch_bounds__(kThreads, 2)
    sum_windows(const T* a, const T* b, Layout in, SsimRule rule, double* parts) {
  using Sum = typename Window::Sum;
  constexpr int kRadius = Window::kRadius, kDeep = 2 * kRadius;
  // The grey of floats, three reads and a double, would take too many registers while others are in use.
  constexpr bool kAhead = !kGrey || std::is_same_v<T, std::uint8_t>;
  __shared__ Rows<Sum> rows;
  __shared__ double shared[kThreads];
  __shared__ std::size_t row_offset[kBandRows + kDeep];

  const int t = static_cast<int>(threadIdx.x), column = t % kColumns;
  const Place place = place_of(in, kRadius);
  for (int k = t; k < static_cast<int>(kBandRows) + kDeep; k += kThreads) {
    const std::int64_t y = mirrored(place.top + smaller(k, place.n_rows + kDeep - 1), in.height);
    row_offset[k] = static_cast<std::size_t>(y) * in.row_step;
  }
  const std::int64_t x = mirrored(place.left + smaller(column, place.n_columns + kDeep - 1), in.width);
  a += place.plane + static_cast<std::size_t>(x) * in.pixel_step;
  b += place.plane + static_cast<std::size_t>(x) * in.pixel_step;
  __syncthreads();

  const bool products = t >= kColumns;
  Column<Window> sums{products, in.low};
#pragma unroll 1
  for (int first = 0; first < kDeep; first += kRadius) {  // the rows before the first window is full
    Pixels<T, kGrey, kRadius> pixels;
    pixels.fetch(a, b, row_offset + first, in);
#pragma unroll
    for (int k = 0; k < kRadius; ++k) sums.enter(pixels.a[k], pixels.b[k]);
  }
  Pixels<T, kGrey, kRows> pixels;
  pixels.fetch(a, b, row_offset + kDeep, in);

  const int row = t % kRows, group = t / kRows * kGroup;
  const Sum* mine = rows.sum + row * Rows<Sum>::kRow + group;
  Sum* to = rows.sum + (products ? 2 : 0) * Rows<Sum>::kWide + column;
  double total = 0;
  for (int first = 0; first < place.n_rows; first += kRows) {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      sums.enter(pixels.a[k], pixels.b[k]);
      to[k * Rows<Sum>::kRow] = sums.full[0];
      to[k * Rows<Sum>::kRow + Rows<Sum>::kWide] = sums.full[1];
    }
    __syncthreads();
    const bool more = first + kRows < place.n_rows;
    const std::size_t* next = row_offset + first + kRows + kDeep;
    if (kAhead && more) pixels.fetch(a, b, next, in);
    if (first + row < place.n_rows && group < place.n_columns) {
      Sum along[kGroup][4];
      sum_along<Window>(mine, along);
      total += similarity(along, place.n_columns - group, rule);
    }
    if (!kAhead && more) pixels.fetch(a, b, next, in);
    __syncthreads();
  }
  total = block_sum<kThreads>(total, shared);
  if (t == 0) parts[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = total;
}

// The mean over all windows, NaN where it is not finite.
struct Mean {
  double n_windows;

  __device__ double operator()(double sum) const {
    return std::isfinite(sum) ? sum / n_windows : std::nan("");
  }
};

inline std::size_t quotient(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

// Bands and strips are as few as can be, and of about one size.
Layout layout_of(const ImageShape& shape, const SsimPlan& plan, double low, bool blue_first) {
  Layout to{};
  to.height = static_cast<std::int64_t>(shape.height);
  to.width = static_cast<std::int64_t>(shape.width);
  to.item_step = shape.height * shape.width * shape.channels;
  to.pixel_step = shape.planar ? 1 : shape.channels;
  to.row_step = shape.width * to.pixel_step;
  to.plane_step = shape.planar ? shape.height * shape.width : 1;
  to.green = to.plane_step;
  (blue_first ? to.red : to.blue) = 2 * to.plane_step;
  to.low = low;
  to.margin = static_cast<std::int64_t>(plan.margin);
  to.rows = plan.rows;
  to.columns = plan.columns;
  to.n_bands = quotient(plan.rows, kBandRows);
  to.band_rows = quotient(quotient(plan.rows, to.n_bands), kRows) * kRows;
  to.n_bands = quotient(plan.rows, to.band_rows);
  to.n_strips = quotient(plan.columns, kColumns - 2 * (plan.uniform ? kUniformRadius : kGaussianRadius));
  to.strip_columns = quotient(plan.columns, to.n_strips);
  return to;
}

template <typename T>
auto kernel_of(const SsimPlan& plan) {
  using UniformSum = std::conditional_t<std::is_same_v<T, std::uint8_t>, int, double>;
  if (plan.uniform) return sum_windows<T, Uniform<UniformSum>, false>;
  return plan.grey ? sum_windows<T, Gaussian, true> : sum_windows<T, Gaussian, false>;
}

std::size_t blocks_of(const Layout& layout, const SsimPlan& plan) {
  return plan.planes * plan.step * layout.n_bands * layout.n_strips;
}

}  // namespace

std::size_t ssim_workspace(const ImageShape& shape, SsimVariant variant) {
  const SsimPlan plan = ssim_plan(shape, variant, 1);
  return shape.n_items * blocks_of(layout_of(shape, plan, 0, false), plan);
}

template <typename T>
int ssim(const T* a, const T* b, const ImageShape& shape, SsimVariant variant, double low, double extent,
         bool blue_first, Result<T>* out, double* workspace, cudaStream_t stream) {
  const SsimPlan plan = ssim_plan(shape, variant, extent);
  const Layout layout = layout_of(shape, plan, low, blue_first);
  const std::size_t blocks = blocks_of(layout, plan);
  return in_batches(shape.n_items, [&](std::size_t first, unsigned items) {
    const std::size_t start = first * layout.item_step;
    const int error = launch(kernel_of<T>(plan), dim3(static_cast<unsigned>(blocks), items), dim3(kThreads),
                             stream, a + start, b + start, layout, plan.rule, workspace);
    return error != 0 ? error
                      : launch(add_parts<Result<T>, Mean>, dim3(items), dim3(kPartsThreads), stream,
                               workspace, blocks, Mean{plan.n_windows}, out + first);
  });
}

#define WMB_SSIM_OF(T)                                                                                    \
  template int ssim(const T*, const T*, const ImageShape&, SsimVariant, double, double, bool, Result<T>*, \
                    double*, cudaStream_t);
WMB_SSIM_OF(std::uint8_t)
WMB_SSIM_OF(float)
WMB_SSIM_OF(double)
#undef WMB_SSIM_OF

}  // namespace wmb::cuda
