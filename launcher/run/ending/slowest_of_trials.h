/// How long the checkpoints of an ensemble's trials take: as long as the slowest that was seen.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ensemble/model/trial_runner.h"
#include "launcher/run/ending/save_time.h"

namespace slipway::launcher {

class SlowestOfTrials {
 public:
  using PlaceOf = std::function<AttemptPlace(ensemble::TrialNumber)>;

  /// Looks at some of the trials that run, in rising order, and at the others in later calls: thousands of them must
  /// not keep a file system busy.
  std::optional<Seconds> Look(const std::vector<ensemble::TrialNumber>& running, const PlaceOf& place_of);

 private:
  std::optional<Seconds> slowest_;
  ensemble::TrialNumber next_ = 0;  ///< to be looked at, or the first after it
};

}  // namespace slipway::launcher
