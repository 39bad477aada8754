#include "launcher/run/ending/job_end_reason.h"

#include <algorithm>

#include "core/log.h"
#include "launcher/cluster/slurm_client.h"

namespace slipway::launcher {
namespace {

constexpr auto kFatePatience = std::chrono::milliseconds(1500);
constexpr int kFateTries = 3;

bool GoesBack(const SlurmJob& job) {
  const auto says_so = [](JobFlag flag) { return flag == JobFlag::kRequeue || flag == JobFlag::kRequeueHold; };
  return job.phase() == JobPhase::kWaiting || std::any_of(job.flags.begin(), job.flags.end(), says_so);
}

/// Slurm signals every process of the batch step, also the one that asks the question: it is asked again.
std::optional<SlurmJob> Ask(const JobIdentity& job, int tries) {
  SlurmClientOptions options;
  options.deadline = kFatePatience;
  while (true) {
    try {
      return SlurmClient(options).Job(job);
    } catch (const SlurmError& error) {
      log::Warn("what becomes of job {}: {}", job.id, error.message());
      if (--tries == 0) return {};
    }
  }
}

}  // namespace

JobEndReason EndReasonOf(const SlurmJob& job) {
  if (GoesBack(job)) return JobEndReason::kPutBack;
  switch (job.state) {
    case JobState::kCancelled: return JobEndReason::kRemoved;
    case JobState::kTimeout: return JobEndReason::kTimedOut;
    default: break;
  }
  if (IsFinal(job.state)) return JobEndReason::kEnded;
  return job.preempted ? JobEndReason::kPreempted : JobEndReason::kStays;
}

KnownFate EndReasonOfJob(const JobIdentity& job) {
  const auto known = Ask(job, kFateTries);
  if (!known) return {};
  return {EndReasonOf(*known), known->state};
}

std::optional<WallTime> EndOfJob(const JobIdentity& job) {
  const auto known = Ask(job, 1);
  if (!known || !known->end) return {};
  return WallTime(*known->end);
}

}  // namespace slipway::launcher
