/// The states and flags of Slurm jobs, and their meaning for Slipway. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace slipway::launcher {

/// Slurm's twelve base states.
enum class JobState {
  kPending,
  kRunning,
  kSuspended,
  kCompleted,
  kCancelled,
  kFailed,
  kTimeout,
  kNodeFail,
  kPreempted,
  kBootFail,
  kDeadline,
  kOutOfMemory
};
/// Slurm's words, such as "PENDING", and their meaning as a clause: "waits in the queue".
WordTable<JobState> WordsOf(JobState);

/// What Slurm may add to a base state.
enum class JobFlag {
  kLaunchFailed,
  kRequeue,      ///< goes back to the queue when its epilog is done
  kRequeueHold,  ///< the same, and is held there
  kSpecialExit,  ///< held in the queue after an exit status that the site treats specially
  kResizing,
  kConfiguring,  ///< its nodes boot
  kCompleting,   ///< its processes end, or its epilog runs
  kStopped,      ///< stopped by a signal, its cores kept
  kReconfigFail,
  kPowerUpNode,  ///< its nodes are being switched on
  kRevoked,      ///< runs on another cluster of a federation
  kRequeueFederated,
  kReservationHold,  ///< held because its reservation was deleted
  kSignaling,        ///< a signal is on its way
  kStageOut          ///< the burst buffer's contents are being copied out
};
WordTable<JobFlag> WordsOf(JobFlag);

/// What a job is doing, as Slipway distinguishes it.
enum class JobPhase {
  kWaiting,  ///< in the queue, first time or again
  kRunning,  ///< its processes run, or are about to
  kEnding,   ///< the result is known, but its nodes or its burst buffer are still in use, or it is requeued
  kOver
};

/// True for the nine states that a job ends in.
bool IsFinal(JobState state);
JobPhase PhaseOf(JobState state, std::span<const JobFlag> flags);

/// One clause for users, with the flags: "ran past its time limit; the burst buffer is being copied out".
std::string InWords(JobState state, std::span<const JobFlag> flags);

}  // namespace slipway::launcher
