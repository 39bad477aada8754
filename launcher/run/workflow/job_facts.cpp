#include "launcher/run/workflow/job_facts.h"

#include <algorithm>
#include <string_view>

#include "core/lines.h"
#include "core/log.h"
#include "launcher/run/workflow/step_estimate.h"

namespace slipway::launcher {
namespace {

constexpr std::uint64_t kMebibyte = 1024 * 1024;

/// Of "gpu:a100:4(S:0-1),shard:8": 4.
int GpusIn(std::string_view gres) {
  int sum = 0;
  for (std::size_t at = 0; at < gres.size();) {
    auto item = gres.substr(at, gres.find(',', at) - at);
    at += item.size() + 1;
    item = item.substr(0, item.find('('));
    int count = 0;
    if (item.starts_with("gpu:") && ParseNumber(item.substr(item.rfind(':') + 1), count)) sum += count;
  }
  return sum;
}

void AddCluster(const SlurmClient& slurm, JobFacts& facts) try {
  facts.node = SmallestOf(slurm.Nodes());
  facts.max_array_size = slurm.Cluster().max_array_size;
} catch (const SlurmError& error) {
  log::Info("{}", error.message());
}

}  // namespace

std::optional<NodeSize> SmallestOf(const std::vector<SlurmNode>& nodes) {
  std::optional<NodeSize> smallest;
  for (const auto& node : nodes) {
    if (node.cores < 1) continue;
    const NodeSize own{node.cores,
                       {static_cast<std::uint64_t>(std::max<std::int64_t>(node.memory_mib, 0)) * kMebibyte},
                       GpusIn(node.gres)};
    if (!smallest) smallest = own;
    smallest->cores = std::min(smallest->cores, own.cores);
    smallest->memory.count = std::min(smallest->memory.count, own.memory.count);
    if (own.gpus > 0) smallest->gpus = smallest->gpus > 0 ? std::min(smallest->gpus, own.gpus) : own.gpus;
  }
  return smallest;
}

JobFacts FactsOf(const Workflow& workflow, const ResultStore& store, const SlurmClient& slurm) {
  const auto count = workflow.steps.size();
  JobFacts facts{
      std::vector<bool>(count, true), std::vector<bool>(count, false), std::vector<std::optional<Seconds>>(count), {}};
  if (!HasChoice(workflow)) return facts;
  facts.took = TimesTaken(workflow, store);
  AddCluster(slurm, facts);
  return facts;
}

}  // namespace slipway::launcher
