#include "launcher/run/batch/batch_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {

/// A controller that is being repaired does not end jobs at their time limit either.
constexpr auto kRequeuePatience = std::chrono::hours(1);
constexpr auto kLongestRequeuePause = std::chrono::seconds(16);

/// A whole job that is sent SIGKILL is cancelled in order, with SIGTERM and the site's KillWait before it.
void Kill(const SlurmClient& slurm, const JobIdentity& job) {
  slurm.Signal(job, SIGKILL, SignalTarget::kSteps);
  slurm.Signal(job, SIGKILL, SignalTarget::kScript);
}

/// Slurm sends it no signal but the last one. Its manager, which is suspended, too, may not live to say how it ended.
void EndSuspended(const SlurmClient& slurm, const RunFolder& folder, const JobIdentity& job) {
  slurm.Cancel(job);
  EndRun(folder, Phase::kCancelled, cause::Cancelled{CancelledWhile::kRunning});
}

}  // namespace

void CancelBatchRun(const RunFolder& folder, const RunState& state, JobEnd how) {
  const SlurmClient slurm;
  auto meant = JobOf(folder, state);
  if (meant.id == 0) {
    RequireCluster(meant, slurm.ClusterName());
    RequestCancel(folder);
    meant = JobOf(folder, state);
    if (meant.id == 0) meant = FindSubmitted(slurm, folder).value_or(meant);
    if (meant.id == 0) return;  // who submits it finds the request
  }
  const auto job = slurm.Job(meant);
  if (!job) return;
  switch (job->phase()) {
    case JobPhase::kOver:
    case JobPhase::kEnding: return;  // its manager has gone
    case JobPhase::kRunning:
      if (job->state == JobState::kSuspended) return EndSuspended(slurm, folder, meant);
      return how == JobEnd::kKill ? Kill(slurm, meant) : slurm.Signal(meant, SIGTERM, SignalTarget::kScript);
    case JobPhase::kWaiting: break;
  }
  slurm.Cancel(meant);
  EndRun(folder, Phase::kCancelled, cause::Cancelled{CancelledWhile::kQueued});
}

void ForgetBatchJob(const RunFolder& folder) {
  auto state = folder.ReadState();
  if (JobOf(folder, state).id == 0 && state.phase != Phase::kQueued) return;
  RemoveBatchRecord(folder.path());
  state.batch_job = 0;
  state.batch_task.reset();
  state.batch_cluster.clear();
  state.phase = Phase::kCreated;
  folder.WriteState(state);
}

void RequeueBatchJob(const RunFolder& folder, const RunState& state, Output& output) {
  const auto deadline = SystemClock().Steady() + kRequeuePatience;
  auto pause = std::chrono::seconds(1);
  while (true) {
    try {
      return SlurmClient().Requeue(JobOf(folder, state));
    } catch (const SlurmError& error) {
      if (!MayPass(error.trouble()) || SystemClock().Steady() >= deadline) throw;
      output.Warn(fmt::format("job {} cannot be queued again yet: {}", state.batch_job, error.message()));
    }
    SystemClock().Sleep(pause);
    pause = std::min(2 * pause, kLongestRequeuePause);
  }
}

}  // namespace slipway::launcher
