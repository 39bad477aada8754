#include <optional>

#include "core/lines.h"
#include "core/share_out.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/resolve.h"
#include "launcher/workflow/step_texts.h"

namespace slipway::launcher {
namespace {

/// A whole number that stands in a spec; nothing when it is left out, or known only later.
std::optional<int> NumberIn(const YamlNode& spec, std::string_view section, std::string_view field) {
  const auto* map = spec.Find(section);
  const auto* entry = map == nullptr ? nullptr : map->value.Find(field);
  int number = 0;
  return entry != nullptr && ParseNumber(entry->value.text, number) && number > 0 ? std::optional(number)
                                                                                  : std::nullopt;
}

int RanksAtOnce(const Step& step, const YamlNode& spec) {
  const int ranks = NumberIn(spec, "launch", "ranks_per_node").value_or(1);
  if (step.kind() != StepKind::kEnsemble) return ranks;
  const auto parallel = NumberIn(spec, "ensemble", "parallel");
  return parallel ? *parallel * ranks : static_cast<int>(UsableProcessors());
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

}  // namespace slipway::launcher
