#include "ensemble/search/evolution/variation.h"

#include <algorithm>
#include <cmath>

#include "ensemble/search/cube/places.h"

namespace slipway::ensemble {
namespace {

constexpr double kSpread = 4;  // eta_c: the larger, the nearer to a parent

double Anywhere(const Axis& axis, Draws& draws) {
  if (axis.kind == AxisKind::kCategorical) return static_cast<double>(draws.Below(axis.values));
  return draws.Unit();
}

double NearParents(double near, double far, Draws& draws) {
  const double unit = draws.Unit();
  const double beta = unit < 0.5 ? std::pow(2 * unit, 1 / (kSpread + 1)) : std::pow(2 * (1 - unit), -1 / (kSpread + 1));
  return std::clamp(near + 0.5 * (1 - beta) * (far - near), 0.0, 1.0);
}

/// The number reflected into [0, 1].
double Reflected(double x) {
  x = std::fmod(std::abs(x), 2.0);
  return x > 1 ? 2 - x : x;
}

double Stepped(const Encoding& encoding, std::size_t axis, double at, Draws& draws) {
  const double size = std::pow(10, -3 + 2.5 * draws.Unit());
  const double step = size * draws.Normal();
  if (!HasParts(encoding, axis)) return Reflected(at + step);
  const auto part = PartAround(encoding, axis, at);
  const double there = std::clamp(at + step, 0.0, 1.0);
  if (there < part.low || there > part.high) return there;
  // At least into the next part: on the side of the step if there is one.
  const bool up = part.is_first || (step > 0 && !part.is_last);
  const double just = 1e-6 * (part.high - part.low);
  return up ? part.high + just : part.low - just;
}

double OtherValue(const Axis& axis, double at, Draws& draws) {
  const auto now = static_cast<std::size_t>(at);
  const std::size_t other = draws.Below(axis.values - 1);
  return static_cast<double>(other < now ? other : other + 1);
}

}  // namespace

Coordinates Cross(const Encoding& encoding, const Coordinates& mother, const Coordinates& father, Draws& draws) {
  Coordinates child(mother.size());
  for (std::size_t i = 0; i < child.size(); ++i) {
    const auto& axis = encoding.axis(i);
    const bool from_mother = draws.Unit() < 0.5;
    const double near = from_mother ? mother[i] : father[i];
    const double far = from_mother ? father[i] : mother[i];
    const bool has_both = !std::isnan(near) && !std::isnan(far);
    if (has_both && axis.kind != AxisKind::kCategorical && draws.Unit() < 0.5) {
      child[i] = NearParents(near, far, draws);
    } else if (std::isnan(near)) {
      child[i] = std::isnan(far) ? Anywhere(axis, draws) : far;
    } else {
      child[i] = near;
    }
  }
  return child;
}

void Mutate(const Encoding& encoding, Coordinates& at, Draws& draws) {
  if (at.empty()) return;
  const std::size_t always = draws.Below(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (i != always && draws.Unit() * static_cast<double>(at.size()) >= 0.5) continue;
    const auto& axis = encoding.axis(i);
    at[i] = axis.kind == AxisKind::kCategorical ? OtherValue(axis, at[i], draws) : Stepped(encoding, i, at[i], draws);
  }
}

}  // namespace slipway::ensemble
