#include "launcher/cluster/job_identity.h"

#include <fmt/format.h>

#include <charconv>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

bool MayBeOf(std::string_view known, std::string_view cluster) {
  return known.empty() || cluster.empty() || known == cluster;
}

/// By what it was submitted with, or from where.
bool IsOfThisRun(const JobIdentity& meant, const SlurmJob& job) {
  if (meant.comment.empty() && meant.work_dir.empty()) return true;
  return (!meant.comment.empty() && job.comment == meant.comment) ||
         (!meant.work_dir.empty() && job.work_dir == meant.work_dir);
}

bool HasNumber(const JobIdentity& meant, const SlurmJob& job) {
  const bool is_of_array = job.array_job != 0 && job.array_job == meant.id;
  if (meant.task) return is_of_array && HasTask(job.array_tasks, *meant.task);
  return is_of_array || job.id == meant.id;
}

/// Whether the task is in a range: "3", "5-99", "5-99:2".
bool IsInRange(std::string_view range, std::uint32_t task) {
  std::uint32_t first = 0;
  const auto* const end = range.data() + range.size();
  auto read = std::from_chars(range.data(), end, first);
  if (read.ec != std::errc()) return false;
  if (read.ptr == end || *read.ptr != '-') return task == first;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  read = std::from_chars(read.ptr + 1, end, last);
  if (read.ptr != end && *read.ptr == ':') std::from_chars(read.ptr + 1, end, step);
  return first <= task && task <= last && step > 0 && (task - first) % step == 0;
}

}  // namespace

std::string NumberOf(const JobIdentity& job) {
  return job.task ? fmt::format("{}_{}", job.id, *job.task) : std::to_string(job.id);
}

bool HasTask(std::string_view tasks, std::uint32_t task) {
  tasks = tasks.substr(0, tasks.find('%'));
  while (!tasks.empty()) {
    const auto comma = tasks.find(',');
    if (IsInRange(tasks.substr(0, comma), task)) return true;
    tasks = comma == std::string_view::npos ? std::string_view() : tasks.substr(comma + 1);
  }
  return false;
}

bool IsSameJob(const JobIdentity& left, const JobIdentity& right) {
  return left.id == right.id && left.task == right.task && MayBeOf(left.cluster, right.cluster);
}

bool IsMeant(const JobIdentity& meant, const SlurmJob& job) {
  return HasNumber(meant, job) && MayBeOf(meant.cluster, job.cluster) && meant.owner.value_or(job.user) == job.user &&
         IsOfThisRun(meant, job);
}

std::string WhyElsewhere(const JobIdentity& meant, std::string_view cluster) {
  if (MayBeOf(meant.cluster, cluster)) return {};
  const auto job = meant.id != 0 ? fmt::format("job {}", meant.id) : std::string("it");
  return fmt::format("{} belongs to cluster '{}', and Slurm here is cluster '{}'", job, meant.cluster, cluster);
}

void RequireCluster(const JobIdentity& meant, std::string_view cluster) {
  if (auto why = WhyElsewhere(meant, cluster); !why.empty()) {
    throw SlurmError({SlurmTrouble::kOtherCluster, 0, std::move(why), ""});
  }
}

void RequireMeant(const JobIdentity& meant, const SlurmJob& job) {
  if (IsMeant(meant, job)) return;
  throw SlurmError({SlurmTrouble::kOtherJob, 0,
                    fmt::format("job {} is '{}' of user {}, started in '{}'", job.id, job.name, job.user, job.work_dir),
                    ""});
}

}  // namespace slipway::launcher
