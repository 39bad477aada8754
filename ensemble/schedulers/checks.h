/// When a trial is looked at, by the settings `min` and `interval`, and how reasons show its values.
#pragma once

#include <optional>
#include <string>

#include "ensemble/model/records.h"
#include "ensemble/schedulers/curve.h"

namespace slipway::ensemble {

/// As the user reported it: values of a study that maximizes are negated inside. Six digits.
std::string DescribeValue(double value, Goal goal);

/// Checks lie at min, min + interval, min + 2 interval, ...; without an interval every report from `min` on is one.
class Checks {
 public:
  Checks(double min, double interval) : min_(min), interval_(interval) {}

  /// The check that mark `i` of a curve passes first, as a number that rises along the curve and is the same for all
  /// trials. Nothing when it passes none.
  std::optional<double> PassedAt(const Curve& curve, std::size_t i) const;

 private:
  std::optional<double> Before(double resource) const;

  double min_;
  double interval_;
};

}  // namespace slipway::ensemble
