#include "ensemble/search/gaussian_process/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ensemble/search/cube/places.h"

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

}  // namespace slipway::ensemble
