#include "launcher/run/batch/batch_turn.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/engines/slurm/slurm_client.h"
#include "launcher/run/folder/cancel_request.h"

namespace slipway::launcher {
namespace {

/// A controller that does not answer has not ended it.
bool IsOver(JobId job) try {
  const auto known = SlurmClient().Job(job);
  return !known || known->phase() == JobPhase::kOver;
} catch (const SlurmError&) {
  return false;
}

}  // namespace

JobId OtherJobOf(const RunState& state, const BatchRecord& record, JobId own) {
  for (const auto job : {state.batch_job, record.job}) {
    if (job != 0 && job != own) return job;
  }
  return 0;
}

void RequireTurn(const RunFolder& folder, JobId own) {
  const auto other = OtherJobOf(folder.ReadState(), ReadBatchRecord(folder), own);
  if (other == 0 || IsOver(other)) return;
  throw Error(ErrorKind::kBusy,
              fmt::format("run {} is carried out by job {}; job {} leaves it alone", folder.id(), other, own),
              fmt::format("see what it does: slipway status {}", folder.id()));
}

bool CancelledBeforeItsJob(const RunFolder& folder) {
  if (folder.ReadState().phase != Phase::kQueued || !IsCancelRequested(folder)) return false;
  CancelWhileSubmitted(folder);
  return true;
}

}  // namespace slipway::launcher
