#include "launcher/run/job_fate.h"

#include <algorithm>

#include "core/log.h"
#include "launcher/engines/slurm/slurm_client.h"

namespace slipway::launcher {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(1500);
constexpr int kTries = 3;

bool GoesBack(const SlurmJob& job) {
  const auto says_so = [](JobFlag flag) { return flag == JobFlag::kRequeue || flag == JobFlag::kRequeueHold; };
  return job.phase() == JobPhase::kWaiting || std::any_of(job.flags.begin(), job.flags.end(), says_so);
}

}  // namespace

JobFate FateOf(const SlurmJob& job) {
  if (GoesBack(job)) return JobFate::kPutBack;
  if (IsFinal(job.state)) return JobFate::kRemoved;
  return job.preempted ? JobFate::kMakesRoom : JobFate::kStays;
}

/// Slurm signals every process of the batch step, also the one that asks the question: it is asked again.
JobFate FateOfJob(JobId job) {
  SlurmClientOptions options;
  options.deadline = kPatience;
  for (int tries = kTries; tries > 0; --tries) {
    try {
      const auto known = SlurmClient(options).Job(job);
      return known ? FateOf(*known) : JobFate::kStays;
    } catch (const SlurmError& error) {
      log::Warn("what becomes of job {}: {}", job, error.message());
    }
  }
  return JobFate::kStays;
}

}  // namespace slipway::launcher
