#include "launcher/run/batch/submit_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/environment.h"
#include "core/files.h"
#include "core/text.h"
#include "core/units.h"
#include "launcher/cluster/sbatch.h"
#include "launcher/run/batch/job_limit.h"
#include "launcher/run/batch/submit_request.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {

/// Those after which a submission that did not succeed may have happened.
bool LeavesDoubt(SlurmTrouble trouble) {
  return trouble == SlurmTrouble::kTimeout || trouble == SlurmTrouble::kHelper || trouble == SlurmTrouble::kController;
}

JobIdentity IdentityFor(const BatchJob& job, JobId number, std::string cluster) {
  return {number, std::move(cluster), job.comment, job.directory, ::geteuid()};
}

std::optional<JobIdentity> FindIfAnswered(const SlurmClient& slurm, const BatchJob& job) try {
  return FindLiveJob(slurm, job.comment, job.directory);
} catch (const SlurmError&) {
  return {};
}

/// A site may print numbers around that of the job, and an option may have sent it to another cluster.
JobIdentity SubmitBySbatch(const SlurmClient& slurm, const BatchJob& job, const SubmitRequest& request) {
  const auto said = SubmitWithSbatch(request.script_path);
  const auto submitted = IdentityFor(job, said.id, said.cluster.empty() ? slurm.ClusterName() : said.cluster);
  if (submitted.cluster != slurm.ClusterName() || slurm.Job(submitted)) return submitted;
  return FindLiveJob(slurm, job.comment, job.directory).value_or(submitted);
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
    case SlurmTrouble::kClosed:
    case SlurmTrouble::kPartition: add_text("launch.slurm.partition", job.partition); break;
    case SlurmTrouble::kAccount: add_text("launch.slurm.account", job.account); break;
    case SlurmTrouble::kQos: add_text("launch.slurm.qos", job.qos); break;
    case SlurmTrouble::kReservation: add_text("launch.slurm.reservation", job.reservation); break;
    case SlurmTrouble::kResources:
      add_text("launch.slurm.constraint", job.constraint);
      add_text("launch.slurm.licenses", job.licenses);
      if (job.gpus_per_rank > 0) add("launch.gpus_per_rank", job.gpus_per_rank);
      if (job.gpus_per_rank > 0) add_text("launch.slurm.gpu_type", job.gpu_type);
      if (job.memory_per_node) add("memory of a node", FormatBytes(*job.memory_per_node));
      break;
    default: break;
  }
  return fields;
}

void NameFields(const BatchJob& job, SlurmError& error) {
  const auto fields = FieldsOf(error.trouble(), job);
  if (!fields.empty()) error.AddContext(fmt::format("the job asks for {}", fmt::join(fields, ", ")));
}

std::vector<std::string> EnvironmentOfJob() { return WithoutOwnJob(Environment::Inherited()).entries(); }

/// What of a job that was refused for a limit is more than one job may have; empty: nothing, or Slurm does not say.
std::string TooMuchOf(const SlurmClient& slurm, const BatchJob& refused) try {
  return WhatIsTooMuch(refused, [&slurm](const BatchJob& job) {
    try {
      slurm.EstimateStart(RequestOf(job, EnvironmentOfJob()));
      return true;
    } catch (const SlurmError& error) {
      if (error.trouble() != SlurmTrouble::kLimit) throw;
      return false;
    }
  });
} catch (const SlurmError&) {
  return {};
}

/// Nothing: not certain, or Slurm does not say.
std::optional<std::int64_t> LargestArray(const SlurmClient& slurm, const JobTerms& job) try {
  return MostTasks(slurm.LimitsOnJobs(), job);
} catch (const SlurmError&) {
  return {};
}

/// The same refusal of a job that is beyond a limit alone.
TroubleReport JobLimit(const SlurmError& refusal, std::string text) {
  return {SlurmTrouble::kJobLimit, refusal.report().code, std::move(text), refusal.report().during};
}

void RefuseLargeArray(const SlurmClient& slurm, const BatchJob& job, const SlurmError& refusal) {
  if (job.array.empty()) return;
  const auto most = LargestArray(slurm, job);
  if (!most || job.array_size <= *most) return;
  throw SlurmError(JobLimit(refusal, fmt::format("it is an array of {} tasks, and you may have {} in the queue",
                                                 job.array_size, Counted(*most, "job"))),
                   "set 'jobs: packed' of the step: then several of its steps share a job. Or name another account or "
                   "QOS: 'sacctmgr show associations user=$USER' and 'sacctmgr show qos' list the limits");
}

void RefuseLargeJob(const SlurmClient& slurm, const BatchJob& job, const SlurmError& refusal) {
  const auto what = TooMuchOf(slurm, job);
  if (what.empty()) return;
  throw SlurmError(JobLimit(refusal, fmt::format("it has {}; a smaller job would be taken", what)));
}

/// A job that is beyond a limit alone is not to be tried again. The cheaper question comes first.
void RefuseTooMuch(const SlurmClient& slurm, const BatchJob& job, const SlurmError& refusal) {
  if (refusal.trouble() != SlurmTrouble::kLimit || !OptionsOnlyForSbatch(job).empty()) return;
  RefuseLargeArray(slurm, job, refusal);
  RefuseLargeJob(slurm, job, refusal);
}

}  // namespace

std::vector<PartitionLimits> PartitionLimitsOf(const SlurmClient& slurm) {
  std::vector<PartitionLimits> limits;
  for (const auto& partition : slurm.Partitions()) limits.push_back(LimitsOf(partition));
  return limits;
}

void WriteScript(const BatchJob& job) {
  const auto request = RequestOf(job, {});
  WriteFile(request.script_path, request.script, kPlanMode | S_IXUSR);
}

JobIdentity SubmitJob(const SlurmClient& slurm, const BatchJob& job) {
  const auto request = RequestOf(job, EnvironmentOfJob());
  try {
    if (!OptionsOnlyForSbatch(job).empty()) return SubmitBySbatch(slurm, job, request);
    const auto number = slurm.Submit(request).job;
    return IdentityFor(job, number, slurm.ClusterName());
  } catch (SlurmError& error) {
    RefuseTooMuch(slurm, job, error);
    NameFields(job, error);
    if (!LeavesDoubt(error.trouble())) throw;
    if (const auto found = FindIfAnswered(slurm, job)) return *found;
    throw SubmissionInDoubt(error.report());
  }
}

StartEstimate EstimateStart(const SlurmClientOptions& slurm, const BatchJob& job) try {
  if (!OptionsOnlyForSbatch(job).empty()) return EstimateWithSbatch(RenderBatchScript(job), slurm.deadline);
  return SlurmClient(slurm).EstimateStart(RequestOf(job, EnvironmentOfJob()));
} catch (SlurmError& error) {
  NameFields(job, error);
  throw;
}

std::optional<JobIdentity> FindLiveJob(const SlurmClient& slurm, const std::string& comment,
                                       const std::filesystem::path& directory) {
  for (const auto& job : slurm.FindJobs(comment)) {
    if (job.phase() == JobPhase::kWaiting || job.phase() == JobPhase::kRunning) {
      const auto number = job.array_job != 0 ? job.array_job : job.id;
      return JobIdentity{number, job.cluster, comment, directory, ::geteuid()};
    }
  }
  return {};
}

}  // namespace slipway::launcher
