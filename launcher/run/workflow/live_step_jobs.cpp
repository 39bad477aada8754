#include "launcher/run/workflow/live_step_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "launcher/run/workflow/step_observation.h"

namespace slipway::launcher {
namespace {

LiveJob LiveFrom(JobIdentity identity, const SlurmJob& job) {
  const bool is_stuck = job.dependency.find("(failed)") != std::string::npos;
  return {std::move(identity), job.phase() == JobPhase::kWaiting, is_stuck, job.dependency};
}

bool Names(const std::string& dependency, const std::string& number) {
  return dependency.find(fmt::format(":{}(", number)) != std::string::npos;
}

std::optional<LiveJob> LiveAmong(const std::vector<SlurmJob>& jobs, const JobIdentity& meant) {
  const auto found = std::ranges::find_if(jobs, [&](const auto& job) { return IsMeant(meant, job); });
  if (found == jobs.end() || found->phase() == JobPhase::kOver) return {};
  return LiveFrom(meant, *found);
}

}  // namespace

bool WaitsForTask(const LiveJob& job, const JobIdentity& other) {
  return other.task && Names(job.dependency, NumberOf(other));
}

bool WaitsForAll(const LiveJob& job, const JobIdentity& other) {
  const auto number = std::to_string(other.id);
  return other.id != 0 && (Names(job.dependency, number) || Names(job.dependency, number + "_*"));
}

std::optional<LiveJob> Submissions::Find(const JobIdentity& meant) {
  auto known = std::ranges::find(known_, meant.comment, [](const auto& entry) { return entry.first; });
  if (known == known_.end()) {
    known_.emplace_back(meant.comment, slurm_.FindJobs(meant.comment));
    known = known_.end() - 1;
  }
  for (const auto& job : known->second) {
    auto found = meant;
    found.id = job.array_job != 0 ? job.array_job : job.id;
    found.cluster = job.cluster;
    found.owner = ::geteuid();
    if (job.phase() != JobPhase::kOver && IsMeant(found, job)) return LiveFrom(found, job);
  }
  return {};
}

std::vector<std::optional<LiveJob>> FindLiveJobs(const RunFolder& folder, const std::vector<std::string>& steps,
                                                 const SlurmClient& slurm) {
  std::set<JobId> numbers;
  std::vector<JobIdentity> meant;
  for (const auto& step : steps) {
    meant.push_back(JobOfStep(folder, step));
    if (meant.back().id != 0) numbers.insert(meant.back().id);
  }
  const auto known = slurm.Jobs(std::vector(numbers.begin(), numbers.end()));
  Submissions submissions(slurm);
  std::vector<std::optional<LiveJob>> live(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (IsFinal(ReadRecordOfStep(folder.path(), steps[i]).state)) continue;
    if (meant[i].id != 0) live[i] = LiveAmong(known, meant[i]);
    if (meant[i].id == 0 && HasBegunSubmission(folder, steps[i])) live[i] = submissions.Find(meant[i]);
  }
  return live;
}

}  // namespace slipway::launcher
