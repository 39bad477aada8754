#include "ensemble/schedulers/explore.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ensemble/model/scalar.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kMostDraws = 128;
constexpr double kResample = 0.25;
constexpr double kFactor = 0.2;
constexpr double kLeastPart = 0.02;  // of the range: multiplication alone never leaves 0

/// The value times 1.2 (up) or 0.8 (down).
double Multiplied(double value, bool up) { return up ? value * (1 + kFactor) : value * (1 - kFactor); }

double Moved(double value, double width, bool up) {
  const double distance = std::max(kFactor * std::abs(value), kLeastPart * width);
  return up ? value + distance : value - distance;
}

/// `value` moved by `distance` single values, rounded, at least one; not beyond the ends.
Scalar AtDistance(const Domain& domain, const Scalar& value, double distance, bool up) {
  const auto index = IndexOf(domain, value);
  if (!index) return value;
  const auto steps = static_cast<std::uint64_t>(std::clamp(std::round(distance), 1.0, 0x1p62));
  const std::uint64_t last = CountValues(domain) - 1;  // also of all 2^64 integers
  if (up) return ValueAt(domain, steps > last - *index ? last : *index + steps);
  return ValueAt(domain, steps > *index ? 0 : *index - steps);
}

/// `value` perturbed in one direction; unchanged at that end of the range.
struct Perturbed {
  const Domain& domain;
  const Scalar& value;
  bool up;

  Scalar operator()(const UniformDomain& range) const {
    const double width = range.high - range.low;
    const double moved = Moved(NumberOf(value), width, up);
    if (range.step > 0) return AtDistance(domain, value, std::abs(moved - NumberOf(value)) / range.step, up);
    return std::clamp(moved, range.low, range.high);
  }
  Scalar operator()(const LogDomain& range) const {
    return std::clamp(Multiplied(NumberOf(value), up), range.low, range.high);
  }
  Scalar operator()(const IntDomain& range) const {
    const double width = static_cast<double>(range.high) - static_cast<double>(range.low);
    const double moved = Moved(NumberOf(value), width, up);
    return AtDistance(domain, value, std::abs(moved - NumberOf(value)) / static_cast<double>(range.step), up);
  }
  Scalar operator()(const IntLogDomain&) const { return AtDistance(domain, value, kFactor * NumberOf(value), up); }
  Scalar operator()(const OrdinalDomain&) const { return AtDistance(domain, value, 1, up); }
  Scalar operator()(const ChoiceDomain&) const { return value; }
  Scalar operator()(const FixedDomain&) const { return value; }
};

Scalar Perturb(const Domain& domain, const Scalar& value, bool up) {
  auto moved = std::visit(Perturbed{domain, value, up}, domain);
  return SameValue(moved, value) ? std::visit(Perturbed{domain, value, !up}, domain) : moved;
}

/// The perturbed parameters of the parent. Parameters that are missing from it are drawn again.
Point PerturbedPart(const SearchSpace& space, const Point& parent, Draws draws) {
  Point kept;
  for (const auto& parameter : space.parameters()) {
    const Scalar* value = Find(parent, parameter.name);
    const bool resamples = draws.Unit() < kResample;
    const bool up = draws.Unit() < 0.5;
    if (value != nullptr && !resamples) kept.emplace_back(parameter.name, Perturb(parameter.domain, *value, up));
  }
  return kept;
}

}  // namespace

Point Explore(const SearchSpace& space, const Point& parent, std::uint64_t seed, TrialNumber trial,
              const std::set<std::string>& others) {
  const auto own = ConfigurationHash(parent);
  std::optional<Point> like_another;
  for (std::uint32_t draw = 0; draw < kMostDraws; ++draw) {
    const auto kept = PerturbedPart(space, parent, Draws(seed, trial, "explore", draw));
    auto point = RandomPoint(space, seed, trial, draw, kept);
    const auto hash = ConfigurationHash(point);
    if (!space.Allows(point) || hash == own) continue;
    if (!others.contains(hash)) return point;
    if (!like_another) like_another = std::move(point);
  }
  return like_another.value_or(parent);
}

}  // namespace slipway::ensemble
