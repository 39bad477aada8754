#include "launcher/run/batch/batch_turn.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_utc.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run_folder/cancel_request.h"

namespace slipway::launcher {
namespace {

/// A controller that does not answer has not ended it.
bool IsOver(const JobIdentity& job) try {
  const auto known = SlurmClient().Job(job);
  return !known || known->phase() == JobPhase::kOver;
} catch (const SlurmError&) {
  return false;
}

Error IsCancelled(const RunFolder& folder, const JobIdentity& own) {
  return {ErrorKind::kBusy,
          fmt::format("run {} was cancelled after job {} was submitted; job {} leaves it alone", folder.id(), own.id,
                      own.id),
          fmt::format("to carry it out nevertheless: slipway resume {}", folder.selector())};
}

}  // namespace

bool IsCancelledSince(const RunState& observed, std::optional<SlurmTime> submitted) {
  if (observed.phase != Phase::kCancelled) return false;
  const auto cancelled = ParseUtc(observed.ended);
  return !cancelled || !submitted || *submitted <= *cancelled;
}

std::optional<JobIdentity> OtherJobOf(const JobIdentity& managed, const JobIdentity& submitted,
                                      const JobIdentity& own) {
  for (const auto* job : {&managed, &submitted}) {
    if (job->id != 0 && !IsSameJob(*job, own)) return *job;
  }
  return {};
}

void RequireTurn(const RunFolder& folder, const JobIdentity& own) {
  const auto other = OtherJobOf(JobOf(folder, folder.ReadState()), ReadBatchRecord(folder.path()).job, own);
  if (!other) return;
  if (IsOver(*other)) {
    const auto job = SlurmClient().Job(own);
    if (IsCancelledSince(ObserveRun(folder), job ? job->submitted : std::nullopt)) throw IsCancelled(folder, own);
    return;
  }
  throw Error(ErrorKind::kBusy,
              fmt::format("run {} is carried out by job {}; job {} leaves it alone", folder.id(), other->id, own.id),
              fmt::format("see what it does: slipway status {}", folder.selector()));
}

bool CancelledBeforeItsJob(const RunFolder& folder) {
  if (folder.ReadState().phase != Phase::kQueued || !IsCancelRequested(folder)) return false;
  CancelWhileSubmitted(folder);
  return true;
}

}  // namespace slipway::launcher
