/// When to ask the controller about jobs again. Pure.
#pragma once

#include <chrono>

#include "launcher/cluster/job_states.h"

namespace slipway::launcher {

/// What one answer about the jobs of a run was.
struct PollRound {
  JobPhase phase = JobPhase::kWaiting;       ///< the busiest one of the jobs asked about
  std::chrono::milliseconds in_phase{0};     ///< how long the jobs have been as they are
  std::chrono::milliseconds answer_took{0};  ///< a controller that is slow to answer is asked less often
  int failures = 0;                          ///< how many times in a row there was no answer
};

/// From half a second, for what has just changed, to a minute. A controller serves thousands: it is never kept busy
/// with us for more than a fiftieth of its time, and asked the less the longer nothing happens.
std::chrono::milliseconds NextPollAfter(const PollRound& round);

}  // namespace slipway::launcher
