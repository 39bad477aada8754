#include "ensemble/search/gaussian_process/acquisition_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ensemble/search/cube/places.h"
#include "ensemble/search/numbers/bounded_minimum.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint64_t kManyValues = 64;
constexpr std::size_t kMostValuesTried = 16;
constexpr double kKeepCategory = 0.8;

}  // namespace

bool Candidates::IsSmooth(std::size_t axis) const {
  const Axis& a = encoding_.axis(axis);
  return a.kind == AxisKind::kContinuous ||
         (a.kind == AxisKind::kOrdered && (a.values == 0 || a.values >= kManyValues));
}

bool Candidates::HasSteps() const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!IsSmooth(i)) return true;
  }
  return false;
}

double Candidates::Draw(std::size_t axis, const SearchBox& box, Draws& draws) const {
  const Axis& a = axes_[axis];
  if (a.kind != AxisKind::kCategorical) return box.low[axis] + draws.Unit() * (box.high[axis] - box.low[axis]);
  const bool keep = !box.centre.empty() && !std::isnan(box.centre[axis]) && draws.Unit() < kKeepCategory;
  return keep ? box.centre[axis] : static_cast<double>(draws.Below(a.values));
}

double Candidates::OnAxis(std::size_t axis, double at) const {
  return HasParts(encoding_, axis) ? PartAround(encoding_, axis, at).place : at;
}

void Candidates::Settle(Coordinates& at, const SearchBox& box, Draws& draws) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!activity_.IsActive(i, at)) {
      at[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    if (std::isnan(at[i])) at[i] = Draw(i, box, draws);
    at[i] = OnAxis(i, at[i]);
  }
}

Coordinates Candidates::Anywhere(const SearchBox& box, Draws& draws) const {
  Coordinates at(axes_.size());
  const bool few = !box.centre.empty() && draws.Unit() < 0.5;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    at[i] = few && draws.Unit() >= MovedShare() ? box.centre[i] : Draw(i, box, draws);
  }
  Settle(at, box, draws);
  return at;
}

double Candidates::Nudged(std::size_t axis, double from, double reach, const SearchBox& box, Draws& draws) const {
  const Axis& a = axes_[axis];
  if (a.kind == AxisKind::kCategorical) return draws.Unit() < 0.5 ? from : static_cast<double>(draws.Below(a.values));
  const double step = a.kind == AxisKind::kOrdered && a.values > 0 ? 0.7 / static_cast<double>(a.values) : 0;
  return std::clamp(from + std::max(reach, step) * draws.Normal(), box.low[axis], box.high[axis]);
}

Coordinates Candidates::Near(const Coordinates& from, const SearchBox& box, Draws& draws) const {
  const double reach = std::pow(10, -3 + 2.3 * draws.Unit());
  Coordinates at = from;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const bool moves = draws.Unit() < MovedShare();
    if (std::isnan(at[i])) continue;
    at[i] = moves ? Nudged(i, at[i], reach, box, draws) : at[i];
    if (axes_[i].kind != AxisKind::kCategorical) at[i] = std::clamp(at[i], box.low[i], box.high[i]);
  }
  Settle(at, box, draws);
  return at;
}

std::vector<Coordinates> Candidates::Neighbours(const Coordinates& from, const SearchBox& box, Draws& draws) const {
  std::vector<Coordinates> neighbours;
  const auto add = [&](std::size_t axis, double value) {
    Coordinates at = from;
    at[axis] = value;
    Settle(at, box, draws);
    neighbours.push_back(std::move(at));
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (IsSmooth(i) || std::isnan(from[i])) continue;
    if (axes_[i].kind == AxisKind::kOrdered) {
      const Part part = PartAround(encoding_, i, from[i]);
      const double little = 0.01 * (part.high - part.low);
      if (!part.is_first) add(i, part.low - little);
      if (!part.is_last) add(i, part.high + little);
      continue;
    }
    const bool all = axes_[i].values <= kMostValuesTried;
    for (std::size_t k = 0; k < std::min<std::size_t>(axes_[i].values, kMostValuesTried); ++k) {
      const auto value = static_cast<double>(all ? k : draws.Below(axes_[i].values));
      if (value != from[i]) add(i, value);
    }
  }
  return neighbours;
}

namespace {

const double kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

/// log h and its derivative, h(u) = phi(u) + u Phi(u).
struct LogH {
  double value;
  double slope;
};

LogH NearH(double u) {
  const double density = std::exp(-0.5 * u * u - kLogRootTwoPi);
  const double mass = 0.5 * std::erfc(-u / std::numbers::sqrt2);
  const double h = density + u * mass;
  return {std::log(h), mass / h};
}

/// Mills' ratio Phi(u)/phi(u) is the continued fraction 1/(x + 1/(x + 2/(x + 3/...))), x = -u. Let c be all that
/// follows the first x: then h = phi c / (x + c), without cancellation.
LogH FarH(double u) {
  const double x = -u;
  double c = 0;
  for (int i = 40; i > 0; --i) c = i / (x + c);
  return {-0.5 * u * u - kLogRootTwoPi + std::log(c / (x + c)), 1 / c};
}

}  // namespace

LogExpectedImprovement LogImprovement(double mean, double deviation, double best) {
  const double u = (best - mean) / deviation;
  const LogH h = u > -5 ? NearH(u) : FarH(u);
  return {std::log(deviation) + h.value, -h.slope / deviation, (1 - u * h.slope) / deviation};
}

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

/// The negative acquisition function along the smooth axes of `at`.
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
