#include "launcher/cluster/job_states.h"

#include <algorithm>
#include <initializer_list>

namespace slipway::launcher {
namespace {

bool Contains(std::span<const JobFlag> flags, std::initializer_list<JobFlag> wanted) {
  return std::find_first_of(flags.begin(), flags.end(), wanted.begin(), wanted.end()) != flags.end();
}

}  // namespace

WordTable<JobState> WordsOf(JobState) {
  static constexpr Word<JobState> kWords[] = {
      {JobState::kPending, "PENDING", "waits in the queue"},
      {JobState::kRunning, "RUNNING", "runs"},
      {JobState::kSuspended, "SUSPENDED", "is suspended: it keeps its nodes, but does not run"},
      {JobState::kCompleted, "COMPLETED", "has ended well"},
      {JobState::kCancelled, "CANCELLED", "was cancelled"},
      {JobState::kFailed, "FAILED", "has failed"},
      {JobState::kTimeout, "TIMEOUT", "ran past its time limit"},
      {JobState::kNodeFail, "NODE_FAIL", "was ended because one of its nodes failed"},
      {JobState::kPreempted, "PREEMPTED", "was preempted by a job of higher priority"},
      {JobState::kBootFail, "BOOT_FAIL", "was ended because one of its nodes did not boot"},
      {JobState::kDeadline, "DEADLINE", "was ended at its deadline"},
      {JobState::kOutOfMemory, "OUT_OF_MEMORY", "was ended because it used more memory than it asked for"}};
  return kWords;
}

WordTable<JobFlag> WordsOf(JobFlag) {
  static constexpr Word<JobFlag> kWords[] = {
      {JobFlag::kLaunchFailed, "LAUNCH_FAILED", "Slurm could not start it on its nodes"},
      {JobFlag::kRequeue, "REQUEUE", "it goes back to the queue"},
      {JobFlag::kRequeueHold, "REQUEUE_HOLD", "it goes back to the queue and is held there"},
      {JobFlag::kSpecialExit, "SPECIAL_EXIT", "it is held: its exit status is one that the site treats specially"},
      {JobFlag::kResizing, "RESIZING", "its number of nodes is changing"},
      {JobFlag::kConfiguring, "CONFIGURING", "its nodes are being made ready"},
      {JobFlag::kCompleting, "COMPLETING", "its nodes are being cleaned up"},
      {JobFlag::kStopped, "STOPPED", "a signal has stopped it, and its cores are kept for it"},
      {JobFlag::kReconfigFail, "RECONFIG_FAIL", "its nodes could not be configured"},
      {JobFlag::kPowerUpNode, "POWER_UP_NODE", "its nodes are being switched on"},
      {JobFlag::kRevoked, "REVOKED", "it runs on another cluster of the federation"},
      {JobFlag::kRequeueFederated, "REQUEUE_FED", "it goes back to the queue of the federation"},
      {JobFlag::kReservationHold, "RESV_DEL_HOLD", "it is held because its reservation was deleted"},
      {JobFlag::kSignaling, "SIGNALING", "a signal is on its way to it"},
      {JobFlag::kStageOut, "STAGE_OUT", "its burst buffer is being copied out"}};
  return kWords;
}

bool IsFinal(JobState state) { return state >= JobState::kCompleted; }

JobPhase PhaseOf(JobState state, std::span<const JobFlag> flags) {
  if (state == JobState::kPending) return JobPhase::kWaiting;
  if (!IsFinal(state)) return JobPhase::kRunning;
  const bool goes_on = Contains(flags, {JobFlag::kCompleting, JobFlag::kStageOut, JobFlag::kRequeue,
                                        JobFlag::kRequeueHold, JobFlag::kRequeueFederated});
  return goes_on ? JobPhase::kEnding : JobPhase::kOver;
}

std::string InWords(JobState state, std::span<const JobFlag> flags) {
  std::string words(MeaningOf(state));
  for (const auto flag : flags) {
    words += "; ";
    words += MeaningOf(flag);
  }
  return words;
}

}  // namespace slipway::launcher
