/// Replays an ensemble of recorded trainings: what a scheduler would have found, and what it would have spent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bench/schedulers/recorded_curves.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::bench {

struct ReplayResult {
  std::optional<double> best;  ///< of the complete trials
  std::int64_t epochs = 0;     ///< of all trials together
  int complete = 0;
  /// How many epochs were spent when the first trial was complete; 0: none is.
  std::int64_t epochs_to_first = 0;
};

/// Trial n follows curves[n]. `settings.parallel` trials run at once, an epoch at a time; they pause and end where the
/// scheduler says so. A trial with a value that is not finite at its end has failed.
///
/// Shape:  settings.trials curves of the same length; settings.max, where given, is their length.
ReplayResult Replay(const ensemble::SchedulerSettings& settings, std::span<const RecordedCurve* const> curves);

}  // namespace slipway::bench
