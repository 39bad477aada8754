/// The schedulers `none` and `wilcoxon`: every trial runs to its end.
#pragma once

#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

class NeverStop : public Scheduler {
 public:
  void Learn(const Report& /*report*/) override {}
  Judgement Take(const Report& /*report*/) override { return {}; }
  void End(TrialNumber /*trial*/, TrialState /*state*/) override {}
};

}  // namespace slipway::ensemble
