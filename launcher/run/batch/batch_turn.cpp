#include "launcher/run/batch/batch_turn.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/cluster/slurm_client.h"
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

}  // namespace

std::optional<JobIdentity> OtherJobOf(const JobIdentity& managed, const JobIdentity& submitted,
                                      const JobIdentity& own) {
  for (const auto* job : {&managed, &submitted}) {
    if (job->id != 0 && !IsSameJob(*job, own)) return *job;
  }
  return {};
}

void RequireTurn(const RunFolder& folder, const JobIdentity& own) {
  const auto other = OtherJobOf(JobOf(folder, folder.ReadState()), ReadBatchRecord(folder).job, own);
  if (!other || IsOver(*other)) return;
  throw Error(ErrorKind::kBusy,
              fmt::format("run {} is carried out by job {}; job {} leaves it alone", folder.id(), other->id, own.id),
              fmt::format("see what it does: slipway status {}", folder.id()));
}

bool CancelledBeforeItsJob(const RunFolder& folder) {
  if (folder.ReadState().phase != Phase::kQueued || !IsCancelRequested(folder)) return false;
  CancelWhileSubmitted(folder);
  return true;
}

}  // namespace slipway::launcher
