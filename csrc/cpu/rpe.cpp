// SPDX-License-Identifier: Apache-2.0
#include "cpu/rpe.h"

#include <algorithm>
#include <cmath>

#include "cpu/batch.h"

namespace wmb {
namespace {

// One item, checked and fitted, and its pairs.
template <typename T>
struct Prepared {
  CheckedTracks<T> checked;
  Problem problem;
  double scale;
  std::vector<std::int64_t> pairs;
};

template <typename T, typename U>
void pairs_of(const Tracks<U>& tracks, std::size_t n, const RpeOptions& options, Prepared<T>& p) {
  const bool from_estimate = options.pairs.from_estimate;
  select_pairs(from_estimate ? tracks.est : tracks.ref, n, p.checked.mask(), from_estimate ? p.scale : 1.0,
               p.checked.check.polish, options.pairs, p.pairs);
}

// Without an alignment there is nothing to fit; what is asked is whether any pose counts.
void fit_nothing(const PoseCheck& check, std::size_t n, Problem& problem) {
  bool any = check.plain ? n > 0 : std::find(check.use.begin(), check.use.end(), 1) != check.use.end();
  problem.fit = nothing_fitted(any);
}

template <typename T>
void prepare(const Tracks<T>& tracks, const Items& items, std::size_t item, const RpeOptions& options,
             Prepared<T>& p, Refused& refused) {
  std::size_t n = items.size(item);
  check_item(tracks, items, item, p.checked, refused,
             options.fit.align == Align::none ? nullptr : &p.problem);
  if (options.fit.align == Align::none) {
    fit_nothing(p.checked.check, n, p.problem);
  } else {
    collect(p.checked.tracks, p.checked.mask(), n, options.fit.n_fit, p.problem);
    fit(&p.problem, 1, options.fit.align, epsilon_of<T>());
    if (options.fit.align == Align::origin) origin_of(p.checked, p.problem);
  }
  p.scale = scale_of(p.problem.fit);
  p.pairs.clear();
  if (p.checked.check.project)
    pairs_of(p.checked.projected(), n, options, p);
  else
    pairs_of(p.checked.tracks, n, options, p);
}

void step_errors(const Tracks<double>& t, const std::vector<std::int64_t>& pairs, const StepOptions& options,
                 double* translation, double* rotation, double* extra) {
  trajectory_kernels().step_errors({t.est, t.ref}, pairs.data(), pairs.size() / 2, options, translation,
                                   rotation, extra);
}

void step_errors(const Tracks<float>& t, const std::vector<std::int64_t>& pairs, const StepOptions& options,
                 double* translation, double* rotation, double* extra) {
  trajectory_kernels().step_errors_f32({t.est, t.ref}, pairs.data(), pairs.size() / 2, options, translation,
                                       rotation, extra);
}

// Pairs of which either pose cannot be used have no error.
void clear_unused(const PoseCheck& check, const std::vector<std::int64_t>& pairs, double* errors) {
  if (check.plain || errors == nullptr) return;
  for (std::size_t k = 0; k < pairs.size() / 2; ++k) {
    std::size_t i = static_cast<std::size_t>(pairs[2 * k]), j = static_cast<std::size_t>(pairs[2 * k + 1]);
    if (check.use[i] == 0 || check.use[j] == 0) errors[k] = std::nan("");
  }
}

template <typename T>
void errors_of_item(const Prepared<T>& p, std::size_t item, const RpeOptions& options, const RpeArrays& out,
                    std::vector<double>& scratch) {
  const Align align = options.fit.align;
  const StepOptions step{p.scale,           step_orientation_of(p.problem.fit, align),
                         options.world,     p.checked.check.polish,
                         options.has_extra, options.extra};
  std::size_t start = static_cast<std::size_t>(out.starts[item]), n = p.pairs.size() / 2;
  double *translation = out.translation + start, *rotation = out.rotation + start;
  double* extra = options.has_extra ? out.extra + start : nullptr;
  std::copy(p.pairs.begin(), p.pairs.end(), out.pairs + 2 * start);
  if (n > 0 && p.checked.check.project)
    step_errors(p.checked.projected(), p.pairs, step, translation, rotation, extra);
  else if (n > 0)
    step_errors(p.checked.tracks, p.pairs, step, translation, rotation, extra);
  for (double* errors : {translation, rotation, extra}) clear_unused(p.checked.check, p.pairs, errors);
  summarise(translation, n, scratch, out.translation_statistics + kStatisticsRow * item);
  summarise(rotation, n, scratch, out.rotation_statistics + kStatisticsRow * item);
  if (options.has_extra) summarise(extra, n, scratch, out.extra_statistics + kStatisticsRow * item);
}

}  // namespace

template <typename T>
Refused count_pairs(const Tracks<T>& tracks, const Items& items, const RpeOptions& options,
                    std::int64_t* counts) {
  Refusals refusals;
  auto chunk = [&](std::size_t item) {
    Prepared<T> p;
    Refused refused;
    prepare(tracks, items, item, options, p, refused);
    counts[item] = static_cast<std::int64_t>(p.pairs.size() / 2);
    refusals.add(refused);
  };
  for_chunks(items.n, chunk);
  return refusals.kept();
}

template <typename T>
Refused rpe(const Tracks<T>& tracks, const Items& items, const RpeOptions& options, const RpeArrays& out) {
  Refusals refusals;
  auto chunk = [&](std::size_t item) {
    Prepared<T> p;
    std::vector<double> scratch;
    Refused refused;
    prepare(tracks, items, item, options, p, refused);
    refusals.add(refused);
    const Problem& q = p.problem;
    double sse = trajectory_kernels().distances(q.x, q.y, q.n, q.n_fit, 0, q.residual, nullptr, nullptr);
    write_fit(q, sse, out.fits + kFitRow * item);
    out.deviation[item] = p.checked.check.deviation;
    errors_of_item(p, item, options, out, scratch);
  };
  for_chunks(items.n, chunk);
  return refusals.kept();
}

#define WMB_INSTANTIATE(T)                                                                           \
  template Refused count_pairs<T>(const Tracks<T>&, const Items&, const RpeOptions&, std::int64_t*); \
  template Refused rpe<T>(const Tracks<T>&, const Items&, const RpeOptions&, const RpeArrays&);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb
