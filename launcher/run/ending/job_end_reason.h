/// Why the manager of a batch job is asked to end: its user wants it, or Slurm does something with the job. Both send
/// SIGTERM.
#pragma once

#include <optional>

#include "core/clock.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/job_states.h"

namespace slipway::launcher {

enum class JobEndReason {
  kStays,      ///< Slurm leaves it as it is: the user has asked
  kRemoved,    ///< with scancel
  kTimedOut,   ///< its time limit is over
  kEnded,      ///< by Slurm for another reason: a node has failed, its memory is used up
  kPutBack,    ///< into the queue, by Slurm: requeued by somebody, or one of its nodes is gone
  kPreempted,  ///< it is preempted, and has some time left; who ends before that is over is not put back
};

/// Pure.
JobEndReason EndReasonOf(const SlurmJob& job);

struct KnownFate {
  JobEndReason fate = JobEndReason::kStays;
  JobState state = JobState::kRunning;  ///< of the job
};

/// Cost: a question to the controller, of some seconds where it does not answer, which is kStays: a manager that is to
/// end may be killed soon.
KnownFate EndReasonOfJob(const JobIdentity& job);

/// When Slurm will end it: its time limit, or the end of the grace that a job has which makes room. Nothing when there
/// is no limit, or no answer within seconds.
std::optional<WallTime> EndOfJob(const JobIdentity& job);

}  // namespace slipway::launcher
