/// Why the manager of a batch job gets SIGTERM: its user ends it, or Slurm does something with the job.
#pragma once

#include <optional>

#include "core/clock.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/job_states.h"

namespace slipway::launcher {

enum class JobEndReason {
  kStays,      ///< Slurm does nothing with the job: the user asked
  kRemoved,    ///< with scancel
  kTimedOut,   ///< its time limit is over
  kEnded,      ///< by Slurm for another reason: a node failed, or its memory limit
  kPutBack,    ///< into the queue, by Slurm: it was requeued, or lost a node
  kPreempted,  ///< it is preempted, with some time left; if it ends before, it is not requeued
};

/// Pure.
JobEndReason EndReasonOf(const SlurmJob& job);

struct KnownFate {
  JobEndReason fate = JobEndReason::kStays;
  JobState state = JobState::kRunning;  ///< of the job
};

/// Asks the controller for the reason. Cost: a request of some seconds at most. Without an answer kStays: a manager
/// that was asked to end may be killed soon.
KnownFate EndReasonOfJob(const JobIdentity& job);

/// When Slurm will end the job: its time limit, or the end of the grace time of a preempted job. Nothing when there is
/// no limit, or no answer within seconds.
std::optional<WallTime> EndOfJob(const JobIdentity& job);

}  // namespace slipway::launcher
