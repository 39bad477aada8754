/// The resources at which a trial is checked (settings `min` and `interval`), and the text of values in reasons.
#pragma once

#include <optional>
#include <string>

#include "ensemble/model/records.h"
#include "ensemble/schedulers/curve.h"

namespace slipway::ensemble {

/// The value as the user reported it, with six digits. Schedulers negate values of a study that maximizes.
std::string DescribeValue(double value, Goal goal);

/// Checks lie at min, min + interval, min + 2 interval, ...; without an interval every report from `min` on is one.
class Checks {
 public:
  Checks(double min, double interval) : min_(min), interval_(interval) {}

  /// The check that mark `i` of a curve is the first to pass; nothing when there is none. The number of a check rises
  /// along the curve and is the same for all trials.
  std::optional<double> PassedAt(const Curve& curve, std::size_t i) const;

 private:
  std::optional<double> Before(double resource) const;

  double min_;
  double interval_;
};

}  // namespace slipway::ensemble
