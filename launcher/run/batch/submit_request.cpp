#include "launcher/run/batch/submit_request.h"

#include <signal.h>

#include <sstream>

#include "launcher/cluster/directive_text.h"

namespace slipway::launcher {
namespace {

constexpr std::uint64_t kMebibyte = 1024 * 1024;

std::optional<std::int64_t> MebibytesOf(const std::optional<Bytes>& memory) {
  if (!memory) return {};
  return static_cast<std::int64_t>((memory->count + kMebibyte - 1) / kMebibyte);
}

/// Where it is down jobs wait: none starts before it is up.
bool TakesJobs(PartitionState state) { return state == PartitionState::kUp || state == PartitionState::kDown; }

std::vector<std::string> Listed(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) list.push_back(name);
  return list;
}

}  // namespace

SubmitRequest RequestOf(const BatchJob& job, std::vector<std::string> environment) {
  SubmitRequest request;
  static_cast<JobTerms&>(request) = job;
  request.script = RenderBatchScript(job);
  request.script_path = job.directory / "job.sh";
  request.environment = std::move(environment);
  request.work_dir = job.directory;
  request.output = OutputPattern(job);
  request.array = job.array;
  request.tasks = job.tasks();
  request.tasks_per_node = job.ranks_per_node;
  request.cpus_per_task = job.cpus_per_rank;
  request.threads_per_core = ThreadsPerCore(job);
  request.gpus_per_node = GpusPerNode(job);
  request.memory_per_node_mib = MebibytesOf(job.memory_per_node);
  request.time_limit_minutes = job.time_limit_minutes.value_or(0);
  if (job.signal_lead_s > 0) {
    request.warn_signal = SIGUSR1;
    request.warn_seconds = job.signal_lead_s;
  }
  return request;
}

PartitionLimits LimitsOf(const SlurmPartition& partition) {
  PartitionLimits limits;
  limits.name = partition.name;
  limits.is_default = partition.is_default;
  limits.takes_jobs = TakesJobs(partition.state);
  limits.max_minutes = partition.max_time_minutes;
  limits.max_nodes = partition.max_nodes;
  limits.min_nodes = partition.min_nodes;
  limits.nodes = partition.total_nodes;
  limits.cpus_per_node = partition.max_cpus_per_node;
  limits.allowed_accounts = Listed(partition.allow_accounts);
  limits.denied_accounts = Listed(partition.deny_accounts);
  limits.allowed_qos = Listed(partition.allow_qos);
  limits.denied_qos = Listed(partition.deny_qos);
  limits.needs_reservation = partition.needs_reservation;
  return limits;
}

}  // namespace slipway::launcher
