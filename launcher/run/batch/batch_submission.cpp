#include "launcher/run/batch/batch_submission.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/process.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/submit_job.h"
#include "launcher/run/data/staged_in.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {

/// Until its job begins the run is in the hands of who submits it.
void EnterQueue(const RunFolder& folder, const std::string& cluster) {
  auto state = folder.ReadState();
  state.phase = Phase::kQueued;
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  state.batch_job = 0;
  state.batch_task.reset();
  state.batch_cluster = cluster;
  ForgetEnd(state);
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(state.phase), Json{{"reason", ""}});
}

/// The files beside the script that its directives name.
void WriteLists(const RunFolder& folder, const Plan& plan) {
  for (const auto& list : StageLists(plan, folder.path())) WriteFile(list.path, list.content);
  RecordStagedIn(folder, plan);
}

BatchRecord Submit(const RunFolder& folder, const Plan& plan, std::vector<std::string>& doubts) {
  const auto job = MakeBatchJob(plan, folder.path());
  const SlurmClient slurm;
  doubts = RequireAPartition(job, PartitionLimitsOf(slurm));
  WriteScript(job);
  WriteLists(folder, plan);
  RemoveBatchRecord(folder.path());  // of an earlier submission
  WithdrawCancelRequest(folder);
  EnterQueue(folder, slurm.ClusterName());
  return {SubmitJob(slurm, job), !job.burst_buffer.out.empty(), {}, {}};
}

/// Ends the submission: from now on only Slurm knows whether there is a job. The job may already own the state.
void LeaveInDoubt(const RunFolder& folder, const SubmissionInDoubt& error) {
  WriteBatchRecord(folder.path(), {{}, false, {}, error.message()});
  folder.AppendEvent("submission_in_doubt", Json{{"reason", error.message()}});
}

/// The job is there, whatever becomes of the note: its comment leads to it, too, and its manager knows it.
void Note(const RunFolder& folder, const BatchRecord& record) try {
  WriteBatchRecord(folder.path(), record);
  folder.AppendEvent("submitted", Json{{"job", record.job.id}, {"cluster", record.job.cluster}});
} catch (const Error& error) {
  log::Warn("job {} is submitted, but that cannot be written down: {}", record.job.id, error.message());
}

/// Who asked for the end before the job had a number could only leave a note. It is looked at after the number has
/// been written down: of the two, one sees what the other has written.
void CancelIfAsked(const RunFolder& folder, const JobIdentity& job) {
  if (!IsCancelRequested(folder)) return;
  SlurmClient().Cancel(job);
  CancelWhileSubmitted(folder);
}

}  // namespace

void RequireBatchSystem() { SlurmClient().Ping(); }

SubmittedRun SubmitBatchRun(const RunFolder& folder, const Plan& plan) {
  SubmittedRun submitted;
  BatchRecord record;
  try {
    record = Submit(folder, plan, submitted.doubts);
  } catch (SubmissionInDoubt& error) {
    error.AddContext(fmt::format("whether run {} has a job shows in slipway status {} when Slurm answers again",
                                 folder.id(), folder.selector()));
    LeaveInDoubt(folder, error);
    throw;
  } catch (const Error& error) {
    EndRun(folder, Phase::kFailed, cause::SubmissionRefused{error.message()});
    throw;
  }
  Note(folder, record);
  CancelIfAsked(folder, record.job);
  submitted.job = record.job.id;
  return submitted;
}

}  // namespace slipway::launcher
