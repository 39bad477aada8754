#include "launcher/run/batch/batch_submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/process.h"
#include "core/units.h"
#include "launcher/cluster/sbatch.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/batch/submit_request.h"
#include "launcher/run/data/staged_in.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/run_folder/enter_phase.h"

namespace slipway::launcher {
namespace {

/// Until its job begins the run is in the hands of who submits it.
void EnterQueue(const RunFolder& folder, const std::string& cluster) {
  auto state = folder.ReadState();
  state.phase = Phase::kQueued;
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  state.batch_job = 0;
  state.batch_cluster = cluster;
  ForgetEnd(state);
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(state.phase), Json{{"reason", ""}});
}

/// It is unknown whether the run has a job. Slurm still carries out what it received before it stopped answering. The
/// controller's next answer may settle it.
class SubmissionInDoubt : public SlurmError {
 public:
  SubmissionInDoubt(const SlurmError& error, const std::string& run) : SlurmError(error.report()) {
    AddContext(fmt::format("whether run {0} has a job shows in slipway status {0} when Slurm answers again", run));
  }
};

/// Those after which a submission that did not succeed may have happened.
bool LeavesDoubt(SlurmTrouble trouble) {
  return trouble == SlurmTrouble::kTimeout || trouble == SlurmTrouble::kHelper || trouble == SlurmTrouble::kController;
}

std::optional<JobIdentity> FindIfAnswered(const SlurmClient& slurm, const RunFolder& folder) try {
  return FindSubmitted(slurm, folder);
} catch (const SlurmError&) {
  return {};
}

/// A site may print numbers around that of the job, and an option may have sent it to another cluster.
JobIdentity SubmitBySbatch(const SlurmClient& slurm, const RunFolder& folder, const SubmitRequest& request) {
  const auto said = SubmitWithSbatch(request.script_path);
  const auto job = SubmittedFor(folder, said.id, said.cluster.empty() ? slurm.ClusterName() : said.cluster);
  if (job.cluster != slurm.ClusterName() || slurm.Job(job)) return job;
  return FindSubmitted(slurm, folder).value_or(job);
}

/// What Slurm calls invalid without naming it.
std::vector<std::string> FieldsOf(SlurmTrouble trouble, const BatchJob& job) {
  std::vector<std::string> fields;
  const auto add = [&](const char* field, const auto& value) {
    fields.push_back(fmt::format("{} '{}'", field, value));
  };
  const auto add_text = [&](const char* field, const std::string& value) {
    if (!value.empty()) add(field, value);
  };
  switch (trouble) {
    case SlurmTrouble::kPartition: add_text("launch.slurm.partition", job.partition); break;
    case SlurmTrouble::kAccount: add_text("launch.slurm.account", job.account); break;
    case SlurmTrouble::kQos: add_text("launch.slurm.qos", job.qos); break;
    case SlurmTrouble::kReservation: add_text("launch.slurm.reservation", job.reservation); break;
    case SlurmTrouble::kResources:
      add_text("launch.slurm.constraint", job.constraint);
      add_text("launch.slurm.licenses", job.licenses);
      if (job.gpus_per_rank > 0) add("launch.gpus_per_rank", job.gpus_per_rank);
      if (job.memory_per_node) add("memory of a node", FormatBytes(*job.memory_per_node));
      break;
    default: break;
  }
  return fields;
}

JobIdentity SubmitOrFind(const SlurmClient& slurm, const RunFolder& folder, const BatchJob& job,
                         const SubmitRequest& request) {
  try {
    if (!OptionsOnlyForSbatch(job).empty()) return SubmitBySbatch(slurm, folder, request);
    const auto number = slurm.Submit(request).job;
    return SubmittedFor(folder, number, slurm.ClusterName());
  } catch (SlurmError& error) {
    const auto fields = FieldsOf(error.trouble(), job);
    if (!fields.empty()) error.AddContext(fmt::format("the job asks for {}", fmt::join(fields, ", ")));
    if (!LeavesDoubt(error.trouble())) throw;
    if (const auto found = FindIfAnswered(slurm, folder)) return *found;
    throw SubmissionInDoubt(error, folder.id());
  }
}

void RequireFittingPartition(const SlurmClient& slurm, const BatchJob& job) {
  std::vector<PartitionLimits> limits;
  for (const auto& partition : slurm.Partitions()) limits.push_back(LimitsOf(partition));
  RequireAPartition(job, limits);
}

/// The environment of this process. A job submitted from within another job gets none of that job's Slurm variables.
std::vector<std::string> EnvironmentOfJob() {
  auto entries = Environment::Inherited().entries();
  std::erase_if(entries,
                [](const auto& entry) { return entry.starts_with("SLURM") && !entry.starts_with("SLURM_CONF="); });
  return entries;
}

SubmitRequest Prepare(const RunFolder& folder, const Plan& plan, const BatchJob& job) {
  auto request = RequestOf(job, EnvironmentOfJob());
  WriteFile(request.script_path, request.script, kPlanMode | S_IXUSR);
  for (const auto& list : StageLists(plan, folder.path())) WriteFile(list.path, list.content);
  RecordStagedIn(folder, plan);
  return request;
}

BatchRecord Submit(const RunFolder& folder, const Plan& plan) {
  const auto job = MakeBatchJob(plan, folder.path());
  const SlurmClient slurm;
  RequireFittingPartition(slurm, job);
  const auto request = Prepare(folder, plan, job);
  RemoveBatchRecord(folder);  // of an earlier submission
  WithdrawCancelRequest(folder);
  EnterQueue(folder, slurm.ClusterName());
  return {SubmitOrFind(slurm, folder, job, request), !job.burst_buffer.out.empty(), {}, {}};
}

/// Ends the submission: from now on only Slurm knows whether there is a job. The job may already own the state.
void LeaveInDoubt(const RunFolder& folder, const SubmissionInDoubt& error) {
  WriteBatchRecord(folder, {{}, false, {}, error.message()});
  folder.AppendEvent("submission_in_doubt", Json{{"reason", error.message()}});
}

/// The job is there, whatever becomes of the note: its comment leads to it, too, and its manager knows it.
void Note(const RunFolder& folder, const BatchRecord& record) try {
  WriteBatchRecord(folder, record);
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

std::uint32_t SubmitBatchRun(const RunFolder& folder, const Plan& plan) {
  BatchRecord record;
  try {
    record = Submit(folder, plan);
  } catch (const SubmissionInDoubt& error) {
    LeaveInDoubt(folder, error);
    throw;
  } catch (const Error& error) {
    EndRun(folder, Phase::kFailed, cause::SubmissionRefused{error.message()});
    throw;
  }
  Note(folder, record);
  CancelIfAsked(folder, record.job);
  return record.job.id;
}

}  // namespace slipway::launcher
