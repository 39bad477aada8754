#include "launcher/cluster/partition_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/nearest_word.h"
#include "core/text.h"
#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "1 hour 30 minutes" reads worse than what users write into a spec.
std::string InWords(int minutes) {
  if (minutes % (24 * 60) == 0) return fmt::format("{}d", minutes / (24 * 60));
  if (minutes % 60 == 0) return fmt::format("{}h", minutes / 60);
  return minutes > 60 ? fmt::format("{}h{}m", minutes / 60, minutes % 60) : fmt::format("{}m", minutes);
}

using Reasons = std::vector<std::string>;

void CheckReservation(const BatchJob& job, const PartitionLimits& partition, Reasons& reasons) {
  if (partition.needs_reservation && job.reservation.empty()) {
    reasons.emplace_back("it takes only jobs with a reservation (launch.slurm.reservation)");
  }
}

void CheckTime(const BatchJob& job, const PartitionLimits& partition, Reasons& reasons) {
  if (!partition.max_minutes) return;
  const auto longest = *partition.max_minutes;
  if (job.time_limit_minutes && *job.time_limit_minutes > longest) {
    reasons.push_back(fmt::format("launch.time_limit of {} is longer than its limit of {}",
                                  InWords(*job.time_limit_minutes), InWords(longest)));
  }
}

bool IsLarger(const BatchJob& job, const std::optional<int>& nodes) { return nodes && job.nodes > *nodes; }

void CheckNodesThatItHas(const BatchJob& job, const PartitionLimits& partition, Reasons& reasons) {
  if (!IsLarger(job, partition.nodes)) return;
  reasons.push_back(fmt::format("launch.nodes of {}, but it has {}", job.nodes, Counted(*partition.nodes, "node")));
}

void CheckNodesOfAJob(const BatchJob& job, const PartitionLimits& partition, Reasons& reasons) {
  if (IsLarger(job, partition.max_nodes) && !IsLarger(job, partition.nodes)) {
    reasons.push_back(
        fmt::format("launch.nodes of {} is more than the {} of one job there", job.nodes, *partition.max_nodes));
  }
  if (job.nodes < partition.min_nodes) {
    reasons.push_back(fmt::format("launch.nodes of {}, but its jobs have at least {}", job.nodes,
                                  Counted(partition.min_nodes, "node")));
  }
}

void CheckSizeOfNodes(const BatchJob& job, const PartitionLimits& partition, Reasons& reasons) {
  const auto cpus = static_cast<std::int64_t>(job.ranks_per_node) * job.cpus_per_rank;
  if (partition.cpus_per_node && cpus > *partition.cpus_per_node) {
    reasons.push_back(fmt::format("launch.ranks_per_node times launch.cpus_per_rank is {}, but a node has {} CPUs",
                                  cpus, *partition.cpus_per_node));
  }
  if (partition.memory_per_node && job.memory_per_node && *job.memory_per_node > *partition.memory_per_node) {
    reasons.push_back(fmt::format("{} of memory on each node, but a node has {}", FormatBytes(*job.memory_per_node),
                                  FormatBytes(*partition.memory_per_node)));
  }
}

/// An account or QOS; one that is not given follows from the user, and only Slurm knows it.
void CheckWord(const std::string& field, const std::string& word, const std::vector<std::string>& allowed,
               const std::vector<std::string>& denied, Reasons& reasons) {
  if (word.empty()) return;
  if (!allowed.empty() && !Contains(allowed, word)) {
    reasons.push_back(fmt::format("{} '{}' is none of those that it takes{}", field, word, SuggestWord(word, allowed)));
  }
  if (Contains(denied, word)) reasons.push_back(fmt::format("{} '{}' is refused there", field, word));
}

std::vector<std::string> Wanted(const BatchJob& job, const std::vector<PartitionLimits>& partitions) {
  std::vector<std::string> names;
  for (const auto& partition : partitions) {
    if (job.partition.empty() && partition.is_default) names.push_back(partition.name);
  }
  std::string_view rest = job.partition;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    if (comma > 0) names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

std::vector<std::string> NamesOf(const std::vector<PartitionLimits>& partitions) {
  std::vector<std::string> names;
  for (const auto& partition : partitions) names.push_back(partition.name);
  return names;
}

[[noreturn]] void RefuseUnknown(const std::string& name, const std::vector<PartitionLimits>& partitions) {
  const auto known = NamesOf(partitions);
  throw Error(ErrorKind::kUsage, fmt::format("there is no partition '{}'{}", name, SuggestWord(name, known)),
              fmt::format("set launch.slurm.partition to one of: {}", fmt::join(known, ", ")));
}

const PartitionLimits& Find(const std::string& name, const std::vector<PartitionLimits>& partitions) {
  const auto found =
      std::find_if(partitions.begin(), partitions.end(), [&](const auto& partition) { return partition.name == name; });
  if (found == partitions.end()) RefuseUnknown(name, partitions);
  return *found;
}

}  // namespace

PartitionFindings CheckAgainstPartition(const BatchJob& job, const PartitionLimits& partition) {
  PartitionFindings findings;
  findings.is_closed = !partition.takes_jobs;
  auto& refusals = findings.refusals;
  auto& limits = job.qos.empty() ? refusals : findings.doubts;
  CheckReservation(job, partition, refusals);
  CheckTime(job, partition, limits);
  CheckNodesOfAJob(job, partition, limits);
  CheckNodesThatItHas(job, partition, refusals);
  CheckSizeOfNodes(job, partition, refusals);
  CheckWord("launch.slurm.account", job.account, partition.allowed_accounts, partition.denied_accounts, refusals);
  CheckWord("launch.slurm.qos", job.qos, partition.allowed_qos, partition.denied_qos, refusals);
  return findings;
}

std::vector<std::string> RequireAPartition(const BatchJob& job, const std::vector<PartitionLimits>& partitions) {
  const auto wanted = Wanted(job, partitions);
  if (wanted.empty()) {
    throw Error(ErrorKind::kUsage, "this cluster has no default partition",
                fmt::format("set launch.slurm.partition to one of: {}", fmt::join(NamesOf(partitions), ", ")));
  }
  Reasons refusals, doubts, closed;
  for (const auto& name : wanted) {
    const auto found = CheckAgainstPartition(job, Find(name, partitions));
    if (found.TakesIt() && found.doubts.empty()) return {};
    if (!found.refusals.empty()) {
      refusals.push_back(fmt::format("partition '{}' cannot take this job: {}", name, fmt::join(found.refusals, "; ")));
    } else if (found.is_closed) {
      closed.push_back(fmt::format("'{}' is drained or inactive", name));
    } else {
      doubts.push_back(fmt::format("partition '{}' takes this job only if QOS '{}' lifts its limits: {}", name, job.qos,
                                   fmt::join(found.doubts, "; ")));
    }
  }
  if (!doubts.empty()) return doubts;
  if (!closed.empty()) throw SlurmError({SlurmTrouble::kClosed, 0, fmt::format("{}", fmt::join(closed, ", ")), ""});
  throw Error(ErrorKind::kUsage, fmt::format("{}", fmt::join(refusals, "\n")),
              "change the spec, or name another partition with launch.slurm.partition");
}

}  // namespace slipway::launcher
