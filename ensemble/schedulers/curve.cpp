#include "ensemble/schedulers/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {

double WorstIfNotFinite(double value) { return std::isfinite(value) ? value : std::numeric_limits<double>::infinity(); }

bool Curve::Add(double resource, double value) {
  const Mark mark{resource, WorstIfNotFinite(value)};
  if (empty() || resource > marks_.back().resource) {
    marks_.push_back(mark);
    if (mark.value < best()) best_ = marks_.size() - 1;
    return true;
  }
  const auto place = std::ranges::lower_bound(marks_, resource, {}, &Mark::resource);
  if (place->resource == resource) {
    *place = mark;
  } else {
    marks_.insert(place, mark);
  }
  best_ = static_cast<std::size_t>(std::ranges::min_element(marks_, {}, &Mark::value) - marks_.begin());
  return false;
}

Curve& Curves::operator[](TrialNumber trial) {
  const auto index = static_cast<std::size_t>(trial);
  if (index >= curves_.size()) curves_.resize(index + 1);
  return curves_[index];
}

std::string DescribeValue(double value, Goal goal) {
  if (!std::isfinite(value)) return "a value that is not finite";
  return fmt::format("{:.6g}", goal == Goal::kMaximize && value != 0 ? -value : value);
}

/// The last check at or before `resource`.
std::optional<double> Checks::Before(double resource) const {
  if (resource < min_) return std::nullopt;
  if (interval_ == 0) return resource;
  // Sums such as 0.1 + 0.2 may miss their check by a rounding.
  return std::floor((resource - min_) / interval_ + 1e-9);
}

std::optional<double> Checks::PassedAt(const Curve& curve, std::size_t i) const {
  const auto here = Before(curve.marks()[i].resource);
  const bool passed_earlier = i > 0 && Before(curve.marks()[i - 1].resource) == here;
  return passed_earlier ? std::nullopt : here;
}

}  // namespace slipway::ensemble
