/// When to ask the controller about jobs again. Pure.
#pragma once

#include <chrono>

#include "launcher/cluster/job_states.h"

namespace slipway::launcher {

/// The result of one request about the jobs of a run.
struct PollRound {
  JobPhase phase = JobPhase::kWaiting;       ///< the busiest phase of the observed jobs
  std::chrono::milliseconds in_phase{0};     ///< how long the jobs have been as they are
  std::chrono::milliseconds answer_took{0};  ///< a slow controller is asked less often
  int failures = 0;                          ///< consecutive requests without an answer
};

/// The time until the next request: half a second after a change, up to a minute when nothing happens. Our requests use
/// at most a fiftieth of the controller's time.
std::chrono::milliseconds NextPollAfter(const PollRound& round);

/// The time until a job is offered again that Slurm has refused this often: a second, up to a minute.
std::chrono::milliseconds NextTryAfter(int refusals);

}  // namespace slipway::launcher
