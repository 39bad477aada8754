/// The longest time of any checkpoint that was seen among an ensemble's trials.
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

  /// Examines some of the running trials, in rising order, and the others in later calls. Thousands of trials must not
  /// keep a file system busy.
  std::optional<Seconds> Look(const std::vector<ensemble::TrialNumber>& running, const PlaceOf& place_of);

 private:
  std::optional<Seconds> slowest_;
  ensemble::TrialNumber next_ = 0;  ///< the next to examine, or the first after it
};

}  // namespace slipway::launcher
