#include <optional>

#include "core/lines.h"
#include "core/share_out.h"
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

int RanksAtOnce(const Step& step, const YamlNode& spec) {
  const int ranks = NumberIn(spec, "launch", "ranks_per_node").value_or(1);
  if (step.kind() != StepKind::kEnsemble) return ranks;
  const auto parallel = NumberIn(spec, "ensemble", "parallel");
  return parallel ? *parallel * ranks : static_cast<int>(UsableProcessors());
}

/// Of how many nodes RanksAtOnce counts one.
int NodesTogether(const Step& step, const YamlNode& spec, int nodes) {
  if (step.kind() != StepKind::kEnsemble || !NumberIn(spec, "ensemble", "parallel")) return nodes;
  return NumberIn(spec, "ensemble", "nodes_per_trial").value_or(1);
}

}  // namespace

StepResources NeedsOf(const Step& step) {
  auto needs = step.resources;
  const auto* spec = SpecOf(step);
  if (spec == nullptr) return needs;
  const int ranks = RanksAtOnce(step, *spec);
  if (!needs.cpus) needs.cpus = ranks * NumberIn(*spec, "launch", "cpus_per_rank").value_or(1);
  if (!needs.gpus) needs.gpus = ranks * NumberIn(*spec, "launch", "gpus_per_rank").value_or(0);
  return needs;
}

StepSize SizeOf(const Step& step) {
  const auto needs = NeedsOf(step);
  StepSize size{1, needs.cpus.value_or(1), needs.gpus.value_or(0)};
  const auto* spec = SpecOf(step);
  if (spec == nullptr) return size;
  const int nodes = NumberIn(*spec, "launch", "nodes").value_or(1);
  const int together = NodesTogether(step, *spec, nodes);
  if (!step.resources.cpus) size.cpus *= together;
  if (!step.resources.gpus) size.gpus *= together;
  size.nodes = nodes + NumberIn(*spec, "resilience", "spare_nodes").value_or(0);
  if (step.kind() == StepKind::kEnsemble && WordIn(*spec, "ensemble", "placement") == "job") size.nodes.reset();
  return size;
}

}  // namespace slipway::launcher
