#include "launcher/workflow/target.h"

#include <fmt/format.h>

#include "core/nearest_word.h"

namespace slipway::launcher {
namespace {

std::string NoSuchStep(const Workflow& workflow, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [group, steps] : workflow.groups) names.push_back(group);
  const auto nearest = NearestWord(name, names);
  return fmt::format("there is no step '{}'{}", name,
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

}  // namespace

std::variant<Target, std::string> TargetOf(const Workflow& workflow, const Reference& reference) {
  const auto group = workflow.groups.find(reference.name);
  if (group == workflow.groups.end()) return NoSuchStep(workflow, reference.name);
  Target target{group->second, reference.path, workflow.steps[group->second.front()].index.has_value()};
  if (!target.many || target.path.empty() || target.path.front().is_member()) return target;
  const auto part = target.path.front();
  target.path.erase(target.path.begin());
  const auto last = static_cast<std::size_t>(part.last.value_or(part.first));
  if (last >= group->second.size()) {
    return fmt::format("step '{}' has {} values, from 0", reference.name, group->second.size());
  }
  const auto begin = group->second.begin();
  target.steps.assign(begin + part.first, begin + static_cast<std::ptrdiff_t>(last) + 1);
  target.many = part.is_range();
  return target;
}

}  // namespace slipway::launcher
