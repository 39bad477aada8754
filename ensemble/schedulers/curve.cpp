#include "ensemble/schedulers/curve.h"

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

}  // namespace slipway::ensemble
