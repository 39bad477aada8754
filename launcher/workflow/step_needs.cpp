#include <algorithm>
#include <optional>

#include "core/lines.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/resolve.h"
#include "launcher/workflow/step_texts.h"

namespace slipway::launcher {
namespace {

/// What stands in a spec; empty when it is left out, or no scalar.
std::string_view WordIn(const YamlNode& spec, std::string_view section, std::string_view field) {
  const auto* map = spec.Find(section);
  const auto* entry = map == nullptr ? nullptr : map->value.Find(field);
  return entry == nullptr ? std::string_view() : entry->value.text;
}

/// A whole number that stands in a spec; nothing when it is left out, or known only later.
std::optional<int> NumberIn(const YamlNode& spec, std::string_view section, std::string_view field) {
  int number = 0;
  return ParseNumber(WordIn(spec, section, field), number) && number > 0 ? std::optional(number) : std::nullopt;
}

/// What the ranks of an experiment, or of one trial, take of each of their nodes.
struct Share {
  int cpus = 1;
  int gpus = 0;
};

Share ShareOf(const YamlNode& spec) {
  const int ranks = NumberIn(spec, "launch", "ranks_per_node").value_or(1);
  return {ranks * NumberIn(spec, "launch", "cpus_per_rank").value_or(1),
          ranks * NumberIn(spec, "launch", "gpus_per_rank").value_or(0)};
}

bool TrialsAreJobs(const Step& step, const YamlNode& spec) {
  return step.kind() == StepKind::kEnsemble && WordIn(spec, "ensemble", "placement") == "job";
}

int NodesOfTrial(const YamlNode& spec) { return NumberIn(spec, "ensemble", "nodes_per_trial").value_or(1); }

/// On so many nodes like `node`: `parallel`, whose default is 1, but no more than have GPUs, and one at least.
int TrialsAtOnce(const YamlNode& spec, const NodeSize& node, int nodes) {
  const auto share = ShareOf(spec);
  const int groups = std::max(1, nodes / NodesOfTrial(spec));
  const bool all_that_fit = WordIn(spec, "ensemble", "parallel") == "auto";
  const int wanted =
      all_that_fit ? groups * std::max(1, node.cores / share.cpus) : NumberIn(spec, "ensemble", "parallel").value_or(1);
  return share.gpus == 0 ? wanted : std::min(wanted, groups * std::max(1, node.gpus / share.gpus));
}

/// How many such shares the step takes, on all its nodes together.
int SharesOf(const Step& step, const YamlNode& spec, const NodeSize& node, int nodes) {
  if (step.kind() != StepKind::kEnsemble) return nodes;
  const int trials =
      TrialsAreJobs(step, spec) ? NumberIn(spec, "ensemble", "parallel").value_or(1) : TrialsAtOnce(spec, node, nodes);
  return trials * NodesOfTrial(spec);
}

}  // namespace

StepResources NeedsOf(const Step& step, const NodeSize& node) {
  auto needs = step.resources;
  const auto* spec = SpecOf(step);
  if (spec == nullptr) return needs;
  const auto share = TrialsAreJobs(step, *spec) ? Share() : ShareOf(*spec);
  const bool is_divided = step.kind() == StepKind::kEnsemble && !TrialsAreJobs(step, *spec);
  const int shares = is_divided ? TrialsAtOnce(*spec, node, 1) : 1;
  if (!needs.cpus) needs.cpus = shares * share.cpus;
  if (!needs.gpus) needs.gpus = shares * share.gpus;
  return needs;
}

int LeastGpusOf(const Step& step, const StepResources& needs) {
  const auto* spec = SpecOf(step);
  const int all = needs.gpus.value_or(0);
  if (spec == nullptr || step.resources.gpus || step.kind() != StepKind::kEnsemble) return all;
  return std::min(all, ShareOf(*spec).gpus);
}

bool AsksForGpus(const Workflow& workflow) {
  return std::ranges::any_of(workflow.steps, [](const Step& step) { return NeedsOf(step, {}).gpus.value_or(0) > 0; });
}

std::vector<StepIndex> RunsWithoutGpus(const Workflow& workflow) {
  std::vector<StepIndex> runs;
  if (!AsksForGpus(workflow)) return runs;
  for (StepIndex index = 0; index < workflow.steps.size(); ++index) {
    const auto& step = workflow.steps[index];
    const auto* spec = SpecOf(step);
    if (spec == nullptr || step.resources.gpus || TrialsAreJobs(step, *spec)) continue;
    if (WordIn(*spec, "launch", "gpus_per_rank").empty()) runs.push_back(index);
  }
  return runs;
}

StepSize SizeOf(const Step& step, const NodeSize& node) {
  StepSize size{1, step.resources.cpus.value_or(1), step.resources.gpus.value_or(0)};
  const auto* spec = SpecOf(step);
  if (spec == nullptr) return size;
  const int nodes = NumberIn(*spec, "launch", "nodes").value_or(1);
  const auto share = ShareOf(*spec);
  const int shares = SharesOf(step, *spec, node, nodes);
  if (!step.resources.cpus) size.cpus = shares * share.cpus;
  if (!step.resources.gpus) size.gpus = shares * share.gpus;
  size.nodes = nodes + NumberIn(*spec, "resilience", "spare_nodes").value_or(0);
  if (TrialsAreJobs(step, *spec)) size.nodes.reset();
  return size;
}

}  // namespace slipway::launcher
