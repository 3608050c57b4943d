// SPDX-License-Identifier: Apache-2.0
// The bodies of cpu/image_kernels.h, compiled once for each instruction set. No std containers, nothing with
// external linkage but the one table: WMB_IMAGE_TABLE names it.
#include <type_traits>

#include "cpu/image_kernels.h"
#include "cpu/isa/lanes.h"

namespace wmb {
namespace {

using Byte = std::uint8_t;

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

Difference byte_difference(const Byte* a, const Byte* b, std::size_t n) {
  constexpr std::size_t kExact = 1 << 15;  // squares of bytes that 32 bits can sum
  std::uint64_t total = 0;
  for (std::size_t begin = 0; begin < n; begin += kExact) {
    const std::size_t end = smaller(n, begin + kExact);
    std::int32_t sum = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const std::int16_t d = static_cast<std::int16_t>(a[k] - b[k]);
      sum += d * d;
    }
    total += static_cast<std::uint32_t>(sum);
  }
  return {static_cast<double>(total), 0, 0};
}

template <typename T>
Difference difference(const T* a, const T* b, std::size_t n) {
  if (n == 0) return {0, 0, 0};
  Lanes sum(0.0), low(static_cast<double>(a[0])), high = low;
  auto add = [&](Lanes x, Lanes y) {
    const Lanes d = x - y;
    sum = sum + d * d;
    low = select(x < low, x, low);
    low = select(y < low, y, low);
    high = select(x > high, x, high);
    high = select(y > high, y, high);
  };
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) add(Lanes(load4(a + k)), Lanes(load4(b + k)));
  if (k < n) {  // filled up with a pixel that is there already, and does not differ from itself
    T rest_a[kLanes], rest_b[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) {
      rest_a[i] = k + i < n ? a[k + i] : a[0];
      rest_b[i] = k + i < n ? b[k + i] : a[0];
    }
    add(Lanes(load4(rest_a)), Lanes(load4(rest_b)));
  }
  Difference out{sum_of(sum), low.v[0], high.v[0]};
  for (int lane = 1; lane < kLanes; ++lane) {
    out.low = low.v[lane] < out.low ? low.v[lane] : out.low;
    out.high = high.v[lane] > out.high ? high.v[lane] : out.high;
  }
  return out;
}

template <typename T>
void grey_row(const T* x, std::size_t channel_step, std::size_t pixel_step, bool blue_first, std::size_t n,
              void* out) {
  using Grey = std::conditional_t<std::is_same_v<T, Byte>, Byte, double>;
  const T *red = x + (blue_first ? 2 * channel_step : 0), *green = x + channel_step,
          *blue = x + (blue_first ? 0 : 2 * channel_step);
  Grey* to = static_cast<Grey*>(out);
  auto pixels = [&](auto step) {
    for (std::size_t i = 0; i < n; ++i)
      to[i] = grey(Grey(red[i * step]), Grey(green[i * step]), Grey(blue[i * step]));
  };
  if (pixel_step == 3)
    pixels(std::integral_constant<std::size_t, 3>());
  else
    pixels(std::integral_constant<std::size_t, 1>());
}

// The windows: weights that are the same along rows and columns. Each takes the middle value first, then its
// neighbours in pairs, from the inside out.
struct Gaussian {
  static constexpr int kRadius = kGaussianRadius;
  static Lanes start(Lanes middle) { return Lanes(kGaussian[0]) * middle; }
  static Lanes add(int distance, Lanes neighbours, Lanes sum) {
    return fused(Lanes(kGaussian[distance]), neighbours, sum);
  }
};

struct Uniform {
  static constexpr int kRadius = kUniformRadius;
  static Lanes start(Lanes middle) { return middle; }
  static Lanes add(int, Lanes neighbours, Lanes sum) { return sum + neighbours; }
};

inline Lanes at(const double* from) { return Lanes(load4(from)); }

// The windowed sums about two values next to each other, of a column of values `step` apart. Each is loaded
// once, and let go of soon.
template <typename Window>
inline void two_sums(const double* middle, std::ptrdiff_t step, Lanes& first, Lanes& second) {
  Lanes left = at(middle), right = at(middle + step);
  first = Window::start(left), second = Window::start(right);
  for (int d = 1; d <= Window::kRadius; ++d) {
    const Lanes further_left = at(middle - d * step), further_right = at(middle + (d + 1) * step);
    first = Window::add(d, further_left + right, first);
    second = Window::add(d, left + further_right, second);
    left = further_left, right = further_right;
  }
}

// The same about two values kLanes steps from each other: along a row, where lanes are neighbours, the
// nearest that share what they load.
template <typename Window>
inline void two_sums_apart(const double* middle, std::ptrdiff_t step, Lanes& first, Lanes& second) {
  constexpr int kRadius = Window::kRadius, kSpan = 2 * kRadius + 1;
  Lanes shared[kSpan];
  for (int i = kLanes; i < kSpan; ++i) shared[i] = at(middle + (i - kRadius) * step);
  auto value = [&](int i) {
    return i >= kLanes && i < kSpan ? shared[i] : at(middle + (i - kRadius) * step);
  };
  first = Window::start(value(kRadius)), second = Window::start(value(kRadius + kLanes));
  for (int d = 1; d <= kRadius; ++d) {
    first = Window::add(d, value(kRadius - d) + value(kRadius + d), first);
    second = Window::add(d, value(kRadius + kLanes - d) + value(kRadius + kLanes + d), second);
  }
}

// Adds the similarity of up to four windows. Lanes beyond them hold anything.
inline void add_similarity(const Lanes (&sums)[4], const SsimRule& rule, std::size_t n_left, Lanes& total) {
  const Lanes value = ssim_of(sums[0], sums[1], sums[2], sums[3], rule);
  if (n_left >= kLanes) {
    total = total + value;
  } else {
    for (std::size_t lane = 0; lane < n_left; ++lane) total.v[lane] += value.v[lane];
  }
}

// A strip of windows, narrow enough that the rows one window covers stay in the first-level cache.
template <int Step, int Radius>
struct Strip {
  static constexpr std::size_t kPixels = Step == 1 ? 64 : 24;
  static constexpr std::size_t kSamples = kPixels * Step;
  static constexpr std::size_t kWide = kSamples + 2 * Radius * Step;
  static constexpr std::size_t kRows = kBandRows + 2 * Radius;
  static_assert(kPixels % (2 * kLanes) == 0 && 4 * (kWide + kRows * kSamples) <= kSsimRoom);
};

// a, b, a^2 + b^2 and a b of n pixels of a row from `first` on, which may lie beyond the border.
template <int Step, typename T>
void four_maps(const T* a, const T* b, double zero, std::int64_t width, std::int64_t first, std::int64_t n,
               double* maps, std::size_t size) {
  auto put = [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    double* out = maps + to * Step;
    const T *pa = a + from * Step, *pb = b + from * Step;
    for (std::int64_t k = 0; k < count * Step; ++k) {
      const double x = pa[k] - zero, y = pb[k] - zero;
      out[k] = x;
      out[k + size] = y;
      out[k + 2 * size] = x * x + y * y;
      out[k + 3 * size] = x * y;
    }
  };
  std::int64_t k = 0;
  for (; k < n && first + k < 0; ++k) put(k, mirrored(first + k, width), 1);
  const std::int64_t inside = width - first < n ? width - first : n;
  if (k < inside) {
    put(k, first + k, inside - k);
    k = inside;
  }
  for (; k < n; ++k) put(k, mirrored(first + k, width), 1);
}

// Along rows first, then along columns.
template <typename Window, int Step, typename T>
double separable(const ImagePair<T>& pair, const Windows& windows, const SsimRule& rule, double* room) {
  constexpr int kRadius = Window::kRadius;
  using S = Strip<Step, kRadius>;
  double *maps = room, *rows = room + 4 * S::kWide;
  const double zero = std::is_same_v<T, Byte> ? 0.0 : pair.zero;
  const std::size_t n_rows = windows.last_row - windows.first_row;
  Lanes total(0.0);
  for (std::size_t left = windows.first_column; left < windows.last_column; left += S::kPixels) {
    const std::size_t n = smaller(S::kPixels, windows.last_column - left), n_samples = n * Step;
    for (std::size_t r = 0; r < n_rows + 2 * kRadius; ++r) {
      const std::int64_t y = mirrored(static_cast<std::int64_t>(windows.first_row + r) - kRadius,
                                      static_cast<std::int64_t>(pair.height));
      const std::size_t offset = (static_cast<std::size_t>(y) - pair.held) * pair.width * Step;
      four_maps<Step>(pair.a + offset, pair.b + offset, zero, static_cast<std::int64_t>(pair.width),
                      static_cast<std::int64_t>(left) - kRadius, static_cast<std::int64_t>(n) + 2 * kRadius,
                      maps, S::kWide);
      for (std::size_t m = 0; m < 4; ++m) {
        const double* from = maps + m * S::kWide + kRadius * Step;
        double* to = rows + (4 * r + m) * S::kSamples;
        for (std::size_t k = 0; k < n_samples; k += 2 * kLanes * Step) {
          for (std::size_t i = k; i < k + kLanes * Step; i += kLanes) {
            Lanes first, second;
            two_sums_apart<Window>(from + i, Step, first, second);
            store4(to + i, first.v);
            store4(to + i + kLanes * Step, second.v);
          }
        }
      }
    }
    constexpr std::ptrdiff_t kRow = 4 * S::kSamples;
    for (std::size_t r = 0; r < n_rows; r += 2) {
      const double* middle = rows + (r + kRadius) * kRow;
      for (std::size_t k = 0; k < n_samples; k += kLanes) {
        Lanes here[4], below[4];
        for (std::size_t m = 0; m < 4; ++m) {
          two_sums<Window>(middle + m * S::kSamples + k, kRow, here[m], below[m]);
        }
        add_similarity(here, rule, n_samples - k, total);
        if (r + 1 < n_rows) add_similarity(below, rule, n_samples - k, total);
      }
    }
  }
  return sum_of(total);
}

// Sums over the seven rows of a window, column by column.
struct Columns {
  static constexpr std::size_t kSamples = 504;  // of windows; whole pixels of one sample or three
  static constexpr std::size_t kWide = kSamples + 2 * kUniformRadius * 3 + kLanes;
  std::uint16_t a[kWide], b[kWide];
  std::int32_t squares[kWide], product[kWide];
};

// Puts a row in.
void enter(Columns& sums, const Byte* a, const Byte* b, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    sums.a[k] = static_cast<std::uint16_t>(sums.a[k] + a[k]);
    sums.b[k] = static_cast<std::uint16_t>(sums.b[k] + b[k]);
    sums.squares[k] += a[k] * a[k] + b[k] * b[k];
    sums.product[k] += a[k] * b[k];
  }
}

// Puts one row in and takes another out.
void move_on(Columns& sums, const Byte* a, const Byte* b, const Byte* old_a, const Byte* old_b,
             std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    sums.a[k] = static_cast<std::uint16_t>(sums.a[k] + a[k] - old_a[k]);
    sums.b[k] = static_cast<std::uint16_t>(sums.b[k] + b[k] - old_b[k]);
    sums.squares[k] += a[k] * a[k] + b[k] * b[k] - (old_a[k] * old_a[k] + old_b[k] * old_b[k]);
    sums.product[k] += a[k] * b[k] - old_a[k] * old_b[k];
  }
}

// Sums of seven numbers `Step` apart, for each of n beginnings.
template <int Step, typename T>
void seven(const T* from, std::size_t n, std::int32_t* to) {
  constexpr int kSeven = 2 * kUniformRadius + 1;
  for (std::size_t k = 0; k < n; ++k) {
    T sum = 0;
    for (int i = 0; i < kSeven; ++i) sum = static_cast<T>(sum + from[k + i * Step]);
    to[k] = sum;
  }
}

typedef std::int32_t Ints __attribute__((vector_size(16)));

inline Lanes whole4(const std::int32_t* from) {
  Ints v;
  std::memcpy(&v, from, sizeof v);
  return Lanes(__builtin_convertvector(v, Doubles));
}

// Windows of bytes: running sums of whole numbers, exact.
template <int Step>
double byte_uniform(const ImagePair<Byte>& pair, const Windows& windows, const SsimRule& rule, double* room) {
  constexpr std::size_t kPixels = Columns::kSamples / Step, kHalf = kUniformRadius;
  static_assert(sizeof(Columns) + 4 * Columns::kWide * sizeof(std::int32_t) <= kSsimRoom * sizeof(double));
  Columns& columns = *reinterpret_cast<Columns*>(room);
  std::int32_t* sums = reinterpret_cast<std::int32_t*>(&columns + 1);
  const std::size_t stride = pair.width * Step;
  Lanes total(0.0);
  for (std::size_t left = windows.first_column; left < windows.last_column; left += kPixels) {
    const std::size_t n = smaller(kPixels, windows.last_column - left) * Step, wide = n + 2 * kHalf * Step;
    std::memset(&columns, 0, sizeof columns);
    for (std::size_t y = windows.first_row; y < windows.last_row; ++y) {
      const std::size_t top = (y - kHalf - pair.held) * stride + (left - kHalf) * Step,
                        last = top + 2 * kHalf * stride;
      if (y == windows.first_row) {
        for (std::size_t at = top; at <= last; at += stride) enter(columns, pair.a + at, pair.b + at, wide);
      } else {
        move_on(columns, pair.a + last, pair.b + last, pair.a + top - stride, pair.b + top - stride, wide);
      }
      seven<Step>(columns.a, n, sums);
      seven<Step>(columns.b, n, sums + Columns::kWide);
      seven<Step>(columns.squares, n, sums + 2 * Columns::kWide);
      seven<Step>(columns.product, n, sums + 3 * Columns::kWide);
      for (std::size_t k = 0; k < n; k += kLanes) {
        Lanes four[4];
        for (std::size_t m = 0; m < 4; ++m) four[m] = whole4(sums + m * Columns::kWide + k);
        add_similarity(four, rule, n - k, total);
      }
    }
  }
  return sum_of(total);
}

double byte_uniform_of(const ImagePair<Byte>& pair, const Windows& windows, const SsimRule& rule,
                       double* room) {
  return pair.step == 1 ? byte_uniform<1>(pair, windows, rule, room)
                        : byte_uniform<3>(pair, windows, rule, room);
}

template <typename Window, typename T>
double separable_of(const ImagePair<T>& pair, const Windows& windows, const SsimRule& rule, double* room) {
  return pair.step == 1 ? separable<Window, 1>(pair, windows, rule, room)
                        : separable<Window, 3>(pair, windows, rule, room);
}

template <typename T>
constexpr ImageKernels<T> float_table() {
  return {difference<T>, grey_row<T>, separable_of<Uniform, T>, separable_of<Gaussian, T>};
}

}  // namespace

extern const ImageTable WMB_IMAGE_TABLE = {
    {byte_difference, grey_row<Byte>, byte_uniform_of, separable_of<Gaussian, Byte>},
    float_table<float>(),
    float_table<double>()};

}  // namespace wmb
