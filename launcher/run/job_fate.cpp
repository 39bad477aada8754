#include "launcher/run/job_fate.h"

#include <algorithm>

#include "launcher/engines/slurm/slurm_client.h"

namespace slipway::launcher {
namespace {

/// The node may be busy with the end of its ranks. Slurm kills who has not ended after KillWait, 30 s where it is not
/// set.
constexpr auto kPatience = std::chrono::seconds(5);

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

JobFate FateOfJob(JobId job) try {
  SlurmClientOptions options;
  options.deadline = kPatience;
  const auto known = SlurmClient(std::move(options)).Job(job);
  return known ? FateOf(*known) : JobFate::kStays;
} catch (const SlurmError&) {
  return JobFate::kStays;
}

}  // namespace slipway::launcher
