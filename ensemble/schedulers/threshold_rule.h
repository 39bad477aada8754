/// The scheduler `threshold`: ends trials whose values leave a range.
#pragma once

#include <utility>

#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// A trial ends with any value below `lower`, above `upper`, or not finite, from the resource `min` on. It remembers
/// nothing, so that a repeated report is judged like any other.
class ThresholdRule : public Scheduler {
 public:
  explicit ThresholdRule(SchedulerSettings settings) : settings_(std::move(settings)) {}

  void Learn(const Report& /*report*/) override {}
  Judgement Take(const Report& report) override;
  void End(TrialNumber /*trial*/, TrialState /*state*/) override {}

 private:
  SchedulerSettings settings_;
};

}  // namespace slipway::ensemble
