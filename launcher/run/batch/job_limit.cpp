#include "launcher/run/batch/job_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "core/units.h"

namespace slipway::launcher {
namespace {

BatchJob Smallest(BatchJob job) {
  job.nodes = job.ranks_per_node = job.cpus_per_rank = 1;
  job.gpus_per_rank = 0;
  job.memory_per_node.reset();
  job.time_limit_minutes = 1;
  job.signal_lead_s = 0;
  job.burst_buffer = {};
  return job;
}

BatchJob WithSizeOf(const BatchJob& job, BatchJob other) {
  other.nodes = job.nodes;
  other.ranks_per_node = job.ranks_per_node;
  other.cpus_per_rank = job.cpus_per_rank;
  return other;
}

std::string SizeText(const BatchJob& job) {
  return fmt::format("{} with {}", Counted(job.nodes, "node"), Counted(job.tasks() * job.cpus_per_rank, "core"));
}

/// A part of the job's size on the smallest job.
struct Part {
  BatchJob job;
  std::string text;
  bool has_size = false;  ///< nodes and cores of the job: says nothing of its own where these are too much
};

std::vector<Part> PartsOf(const BatchJob& job) {
  const auto small = Smallest(job);
  std::vector<Part> parts{{WithSizeOf(job, small), SizeText(job), true}};
  if (job.gpus_per_rank > 0) {
    auto with = WithSizeOf(job, small);
    with.gpus_per_rank = job.gpus_per_rank;
    parts.push_back({with, Counted(job.tasks() * job.gpus_per_rank, "GPU"), true});
  }
  if (job.memory_per_node) {
    auto with = small;
    with.memory_per_node = job.memory_per_node;
    parts.push_back({with, fmt::format("{} of memory", FormatBytes(*job.memory_per_node))});
  }
  auto with = small;
  with.time_limit_minutes = job.time_limit_minutes;
  const auto limit = job.time_limit_minutes
                         ? "a time limit of " + FormatDuration(std::chrono::minutes(*job.time_limit_minutes))
                         : std::string("the partition's default time limit");
  parts.push_back({with, limit});
  return parts;
}

}  // namespace

std::string WhatIsTooMuch(const BatchJob& job, const WouldBeTaken& would_be_taken) {
  const auto small = Smallest(job);
  if (!would_be_taken(small) || would_be_taken(job) || !would_be_taken(small)) return {};
  std::string text;
  bool is_size = false;
  for (const auto& part : PartsOf(job)) {
    if ((is_size && part.has_size) || would_be_taken(part.job)) continue;
    is_size = is_size || part.has_size;
    text += (text.empty() ? "" : ", and ") + part.text;
  }
  return text.empty() ? fmt::format("{} for so long a time", SizeText(job)) : text;
}

std::optional<std::int64_t> MostTasks(const SubmitLimits& limits, const JobTerms& job) {
  std::vector<std::optional<std::int64_t>> of_user;
  for (const auto& account : limits.accounts) {
    if (job.account.empty() || account.name == job.account) of_user.push_back(account.most);
  }
  const bool is_limited = !of_user.empty() && std::ranges::all_of(of_user, [](const auto& most) { return !!most; });
  auto most = is_limited ? std::ranges::max(of_user) : std::nullopt;
  bool is_certain = is_limited;
  for (const auto& qos : limits.qos) {
    if (!qos.most) continue;
    most = std::max(most, qos.most);
    is_certain = is_certain || qos.name == job.qos;
  }
  return is_certain ? most : std::nullopt;
}

}  // namespace slipway::launcher
