#include "ensemble/search/gaussian_process/acquisition_search.h"

#include <algorithm>
#include <cmath>

#include "ensemble/search/gaussian_process/log_expected_improvement.h"
#include "ensemble/search/numbers/bounded_minimum.h"

namespace slipway::ensemble {
namespace {

constexpr int kRoundsOfSteps = 3;

bool MorePromising(const Promise& left, const Promise& right) { return left.log_improvement > right.log_improvement; }

/// The axes that a gradient moves, scaled so that the box has sides of length 1.
struct SmoothAxes {
  std::vector<std::size_t> axes;
  const SearchBox& box;

  double Width(std::size_t i) const { return box.high[axes[i]] - box.low[axes[i]]; }
  std::vector<double> ToUnit(const Coordinates& at) const {
    std::vector<double> unit;
    for (std::size_t i = 0; i < axes.size(); ++i) unit.push_back((at[axes[i]] - box.low[axes[i]]) / Width(i));
    return unit;
  }
  void FromUnit(std::span<const double> unit, Coordinates& at) const {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      at[axes[i]] = std::clamp(box.low[axes[i]] + unit[i] * Width(i), box.low[axes[i]], box.high[axes[i]]);
    }
  }
};

/// Minus the promise along the smooth axes of `at`.
class Descent {
 public:
  Descent(const AcquisitionTask& task, const SmoothAxes& axes, Coordinates at)
      : task_(task),
        axes_(axes),
        at_(std::move(at)),
        features_(task.map.size()),
        by_mean_(task.map.size()),
        by_deviation_(task.map.size()) {}

  double operator()(std::span<const double> unit, std::span<double> gradient) {
    axes_.FromUnit(unit, at_);
    task_.map.Write(at_, features_);
    const auto posterior = task_.process.At(features_, by_mean_, by_deviation_);
    const auto promise = LogImprovement(posterior.mean, posterior.deviation, task_.best);
    for (std::size_t i = 0; i < unit.size(); ++i) {
      const std::size_t column = task_.map.column(axes_.axes[i]);
      const double slope = promise.by_mean * by_mean_[column] + promise.by_deviation * by_deviation_[column];
      gradient[i] = -slope * task_.map.zoom() * axes_.Width(i);
    }
    return -promise.value;
  }

 private:
  const AcquisitionTask& task_;
  const SmoothAxes& axes_;
  Coordinates at_;
  std::vector<double> features_, by_mean_, by_deviation_;
};

}  // namespace

std::vector<Promise> AcquisitionSearch::Judged(const AcquisitionTask& task, std::vector<Coordinates> places) const {
  std::vector<double> features(places.size() * task.map.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    task.map.Write(places[i], std::span(features).subspan(i * task.map.size(), task.map.size()));
  }
  const auto posteriors = task.process.AtAll(features);
  std::vector<Promise> promises;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double value = LogImprovement(posteriors[i].mean, posteriors[i].deviation, task.best).value;
    promises.push_back({std::move(places[i]), value});
  }
  return promises;
}

Promise AcquisitionSearch::Refined(const AcquisitionTask& task, const Promise& from, int iterations,
                                   Draws& draws) const {
  SmoothAxes smooth{{}, task.box};
  for (std::size_t i = 0; i < from.at.size(); ++i) {
    const bool wide = task.box.high[i] > task.box.low[i];
    if (candidates_.IsSmooth(i) && wide && !std::isnan(from.at[i])) smooth.axes.push_back(i);
  }
  if (smooth.axes.empty()) return from;
  const std::size_t size = smooth.axes.size();
  const Bounds bounds{std::vector<double>(size, 0.0), std::vector<double>(size, 1.0)};
  Descent descent(task, smooth, from.at);
  const auto found = FindMinimum(std::ref(descent), smooth.ToUnit(from.at), bounds, iterations);
  Coordinates at = from.at;
  smooth.FromUnit(found.at, at);
  candidates_.Settle(at, task.box, draws);
  auto refined = Judged(task, {std::move(at)}).front();
  return MorePromising(refined, from) ? refined : from;
}

Promise AcquisitionSearch::Stepped(const AcquisitionTask& task, Promise from, int iterations, Draws& draws) const {
  for (int round = 0; round < kRoundsOfSteps; ++round) {
    auto neighbours = candidates_.Neighbours(from.at, task.box, draws);
    if (neighbours.empty()) break;
    const auto promises = Judged(task, std::move(neighbours));
    const auto& best = *std::ranges::min_element(promises, MorePromising);
    if (!MorePromising(best, from)) break;
    from = Refined(task, best, iterations, draws);
  }
  return from;
}

std::vector<Promise> AcquisitionSearch::Rank(const AcquisitionTask& task, Draws& draws,
                                             const AcquisitionEffort& effort) const {
  std::vector<Coordinates> places;
  for (int i = 0; i < effort.anywhere; ++i) places.push_back(candidates_.Anywhere(task.box, draws));
  for (int i = 0; i < effort.near && !task.starts.empty(); ++i) {
    const auto& start = task.starts[static_cast<std::size_t>(i) % task.starts.size()];
    places.push_back(candidates_.Near(start, task.box, draws));
  }
  auto promises = Judged(task, std::move(places));
  std::ranges::stable_sort(promises, MorePromising);
  const auto refined = std::min(static_cast<std::size_t>(effort.refined), promises.size());
  for (std::size_t i = 0; i < refined; ++i) {
    promises[i] = Refined(task, promises[i], effort.iterations, draws);
    if (candidates_.HasSteps()) promises[i] = Stepped(task, promises[i], effort.iterations, draws);
  }
  std::ranges::stable_sort(promises, MorePromising);
  return promises;
}

}  // namespace slipway::ensemble
