// SPDX-License-Identifier: Apache-2.0
// The bodies of cpu/image_kernels.h, compiled once for each instruction set. No std containers, nothing with
// external linkage but the one table: WMB_IMAGE_TABLE names it.
#include <type_traits>

#include "cpu/isa/image_bytes.inc.h"

namespace wmb {
namespace {

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

// The windowed sum about a value, of a row of values `step` apart.
template <typename Window>
inline Lanes one_sum(const double* middle, std::ptrdiff_t step) {
  Lanes sum = Window::start(at(middle));
  for (int d = 1; d <= Window::kRadius; ++d)
    sum = Window::add(d, at(middle - d * step) + at(middle + d * step), sum);
  return sum;
}

// Has a value in a register here and now: compilers would rather load it twice, or put off what makes it.
inline void hold(Lanes& value) {
#if defined(__AVX__) && defined(__GNUC__)
  asm("" : "+x"(value.v));
#else
  static_cast<void>(value);
#endif
}

inline Lanes held_at(const double* from) {
  Lanes value = at(from);
  hold(value);
  return value;
}

// The windowed sums about two values next to each other, of a column of values `step` apart. Each is loaded
// once, and let go of soon.
template <typename Window>
inline void two_sums(const double* middle, std::ptrdiff_t step, Lanes& first, Lanes& second) {
  Lanes left = held_at(middle), right = held_at(middle + step);
  first = Window::start(left), second = Window::start(right);
  for (int d = 1; d <= Window::kRadius; ++d) {
    const Lanes further_left = held_at(middle - d * step), further_right = held_at(middle + (d + 1) * step);
    first = Window::add(d, further_left + right, first);
    second = Window::add(d, left + further_right, second);
    left = further_left, right = further_right;
  }
  hold(first), hold(second);
}

// A strip of windows, narrow enough that the rows one window covers stay in the first-level cache.
template <int Step>
struct Strip {
  static constexpr std::size_t kSamples = 64, kPixels = kSamples / Step;
  static constexpr std::size_t kWide = kSamples + 2 * kGaussianRadius * Step;
  static constexpr std::size_t kRow = 4 * kSamples + kLanes;  // not a power of two: all the cache's sets
  static_assert(4 * kWide + (kBandRows + 2 * kGaussianRadius + 1) * kRow <= kSsimRoom);
};

// a, b, a^2 + b^2 and a b of pixels of a row, summed along it; `zero` is taken off first.
template <typename Window, int Step, typename T>
void sum_row(const T* a, const T* b, double zero, const Stretch& stretch, double* room, double* to) {
  constexpr std::size_t kWide = Strip<Step>::kWide, kSamples = Strip<Step>::kSamples;
  for_pixels(stretch, [&](std::size_t at, std::size_t from, std::size_t n) {
    double* out = room + at * Step;
    const T *pa = a + from * Step, *pb = b + from * Step;
    for (std::size_t k = 0; k < n * Step; ++k) {
      const double x = pa[k] - zero, y = pb[k] - zero;
      out[k] = x;
      out[k + kWide] = y;
      out[k + 2 * kWide] = x * x + y * y;
      out[k + 3 * kWide] = x * y;
    }
  });
  for (std::size_t m = 0; m < 4; ++m) {
    const double* middle = room + m * kWide + Window::kRadius * Step;
    for (std::size_t k = 0; k < kSamples; k += kLanes)
      store4(to + m * kSamples + k, one_sum<Window>(middle + k, Step).v);
  }
}

// What a row's sums are scaled by.
template <typename T>
struct Scales {
  static void undo(Lanes (&)[4]) {}
};
template <>
struct Scales<Byte> {
  static void undo(Lanes (&sums)[4]) { undo_byte_scales(sums); }
};

// The same of bytes is done in whole numbers.
template <typename Window, int Step>
void sum_row(const Byte* a, const Byte* b, double, const Stretch& stretch, double* room, double* to) {
  static_assert(std::is_same_v<Window, Gaussian>);
  byte_gaussian_row<Step>(a, b, stretch, reinterpret_cast<std::int16_t*>(room), to);
}

// Asks for what the next strip will read of a row: to the hardware, walks down a strip have no pattern. An
// address beyond the end does no harm.
template <int Step, typename T>
inline void fetch_next(const T* row, std::size_t column) {
  const char* from = reinterpret_cast<const char*>(row + column * Step) + 32;
  for (std::size_t k = 0; k < Strip<Step>::kSamples * sizeof(T); k += 64) __builtin_prefetch(from + k, 0, 2);
}

// Along rows first, then along columns.
template <typename Window, int Step, typename T>
double separable(const ImagePair<T>& pair, const Windows& windows, const SsimRule& rule, double* room) {
  constexpr int kRadius = Window::kRadius;
  using S = Strip<Step>;
  double *scratch = room, *rows = room + 4 * S::kWide;
  const std::size_t n_rows = windows.last_row - windows.first_row;
  const std::int64_t height = static_cast<std::int64_t>(pair.height),
                     width = static_cast<std::int64_t>(pair.width);
  Lanes total(0.0);
  for (std::size_t left = windows.first_column; left < windows.last_column; left += S::kPixels) {
    const std::size_t n = smaller(S::kPixels, windows.last_column - left), n_samples = n * Step;
    const Stretch stretch{static_cast<std::int64_t>(left) - kRadius,
                          static_cast<std::int64_t>(n) + 2 * kRadius, width};
    auto fill = [&](std::size_t r) {
      const std::int64_t y = mirrored(static_cast<std::int64_t>(windows.first_row + r) - kRadius, height);
      const std::size_t offset = (static_cast<std::size_t>(y) - pair.held) * pair.width * Step;
      fetch_next<Step>(pair.a + offset, left + n + kRadius);
      fetch_next<Step>(pair.b + offset, left + n + kRadius);
      sum_row<Window, Step>(pair.a + offset, pair.b + offset, pair.zero, stretch, scratch,
                            rows + r * S::kRow);
    };
    for (std::size_t r = 0; r < 2 * kRadius; ++r) fill(r);
    for (std::size_t r = 0; r < n_rows; r += 2) {
      fill(r + 2 * kRadius);
      if (r + 1 < n_rows) fill(r + 1 + 2 * kRadius);
      const double* middle = rows + (r + kRadius) * S::kRow;
      for (std::size_t k = 0; k < n_samples; k += kLanes) {
        Lanes here[4], below[4];
        for (std::size_t m = 0; m < 4; ++m)
          two_sums<Window>(middle + m * S::kSamples + k, S::kRow, here[m], below[m]);
        Scales<T>::undo(here);
        Scales<T>::undo(below);
        const Fraction nothing{Lanes(0.0), Lanes(1.0)};
        const Lanes both = sum_of(ssim_of(here, rule), r + 1 < n_rows ? ssim_of(below, rule) : nothing);
        total = total + first_of(both, n_samples - k);
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
