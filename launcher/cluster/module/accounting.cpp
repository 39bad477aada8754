
#include <slurm/slurmdb.h>

#include <memory>

#include "launcher/cluster/module/jobs.h"
#include "launcher/cluster/module/library.h"

namespace slipway::launcher {
namespace {

struct CloseConnection {
  void operator()(void* connection) const { slurmdb_connection_close(&connection); }
};
using Connection = std::unique_ptr<void, CloseConnection>;

bool KeepsAccounting() {
  const auto* const conf = LoadedConfiguration();
  return conf != nullptr && TextOf(conf->accounting_storage_type) == "accounting_storage/slurmdbd";
}

Connection ConnectToDatabase() {
  std::uint16_t flags = 0;
  errno = 0;
  Connection connection(slurmdb_connection_get(&flags));
  if (connection == nullptr) CheckSlurm(-1, "connecting to slurmdbd");
  return connection;
}

slurm_selected_step_t WholeJob(JobId id) {
  slurm_selected_step_t wanted{};
  wanted.array_task_id = NO_VAL;
  wanted.het_job_offset = NO_VAL;
  wanted.step_id.job_id = id;
  wanted.step_id.step_id = NO_VAL;
  wanted.step_id.step_het_comp = NO_VAL;
  return wanted;
}

OwnedList Ask(const std::vector<JobId>& ids) {
  const auto connection = ConnectToDatabase();
  std::vector<slurm_selected_step_t> wanted;
  for (const auto id : ids) wanted.push_back(WholeJob(id));
  const OwnedList steps(slurm_list_create(nullptr));
  for (auto& job : wanted) slurm_list_append(steps.get(), &job);
  slurmdb_job_cond_t condition{};
  condition.flags = JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_DEFAULT_USAGE;
  condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;
  condition.step_list = steps.get();
  errno = 0;
  OwnedList found(slurmdb_jobs_get(connection.get(), &condition));
  if (found == nullptr) CheckSlurm(-1, "asking slurmdbd for jobs");
  return found;
}

SlurmJob PastJobFrom(const slurmdb_job_rec_t& record) {
  SlurmJob job;
  job.id = record.jobid;
  job.array_job = record.array_job_id;
  if (record.array_job_id != 0 && record.array_task_id != NO_VAL)
    job.array_tasks = std::to_string(record.array_task_id);
  job.cluster = TextOf(record.cluster);
  job.user = record.uid;
  job.name = TextOf(record.jobname);
  job.partition = TextOf(record.partition);
  job.account = TextOf(record.account);
  job.state = StateOf(record.state);
  const auto status =
      record.exitcode == NO_VAL ? ExitStatus() : ExitStatus::FromWait(static_cast<int>(record.exitcode));
  job.exit_code = status.code;
  job.signal = status.signal;
  job.nodes = HostsOf(record.nodes);
  job.submitted = TimeOf(record.submit);
  job.start = TimeOf(record.start);
  job.end = TimeOf(record.end);
  job.work_dir = TextOf(record.work_dir);
  job.system_comment = TextOf(record.system_comment);
  return job;
}

}  // namespace

std::vector<SlurmJob> PastJobsOf(const std::vector<JobId>& ids) {
  if (!KeepsAccounting()) return {};
  const auto records = Ask(ids);
  std::vector<SlurmJob> jobs;
  ForEachIn<slurmdb_job_rec_t>(records.get(), [&](const auto& record) {
    if (auto job = PastJobFrom(record); IsFinal(job.state)) jobs.push_back(std::move(job));
  });
  return jobs;
}

}  // namespace slipway::launcher
