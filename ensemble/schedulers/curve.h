/// The reports of one trial, in the order of its resource, and the checks that lie along them.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ensemble/model/records.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// The value, or infinity if it is not finite. No value is worse than infinity.
double WorstIfNotFinite(double value);

class Curve {
 public:
  struct Mark {
    double resource = 0;
    double value = 0;  ///< lower is better; never NaN
  };

  /// Adds a report; a repeated resource gets the new value. True when the resource is larger than all before.
  /// Cost: O(1) if true, else linear in the curve.
  bool Add(double resource, double value);

  /// Ascending resources.
  std::span<const Mark> marks() const { return marks_; }
  bool empty() const { return marks_.empty(); }
  /// The lowest value; infinity without a finite one.
  double best() const { return empty() ? std::numeric_limits<double>::infinity() : marks_[best_].value; }
  /// How many reports follow the first one with the lowest value.
  std::size_t CountSinceBest() const { return empty() ? 0 : marks_.size() - 1 - best_; }

 private:
  std::vector<Mark> marks_;
  std::size_t best_ = 0;
};

/// The curves of a study by trial number.
class Curves {
 public:
  Curve& operator[](TrialNumber trial);
  /// Forgets a curve and frees its memory.
  void Release(TrialNumber trial) { (*this)[trial] = {}; }

 private:
  std::vector<Curve> curves_;
};

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
