#include "launcher/workflow/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace slipway::launcher {
namespace {

/// Follows needs that are in no order until a step comes again.
std::vector<StepIndex> FindCycle(const std::vector<std::vector<StepIndex>>& needs, const std::vector<bool>& ordered) {
  const auto start = std::ranges::find(ordered, false);
  if (start == ordered.end()) return {};
  std::vector<StepIndex> way;
  std::vector<std::size_t> position(needs.size(), needs.size());
  auto at = static_cast<StepIndex>(start - ordered.begin());
  while (position[at] == needs.size()) {
    position[at] = way.size();
    way.push_back(at);
    at = *std::ranges::find_if(needs[at], [&](StepIndex need) { return !ordered[need]; });
  }
  way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(position[at]));
  return way;
}

}  // namespace

std::vector<std::vector<StepIndex>> Inverse(const std::vector<std::vector<StepIndex>>& needs) {
  std::vector<std::vector<StepIndex>> result(needs.size());
  for (StepIndex step = 0; step < needs.size(); ++step) {
    for (const auto need : needs[step]) result[need].push_back(step);
  }
  return result;
}

GraphOrder OrderOf(const std::vector<std::vector<StepIndex>>& needs) {
  const auto dependants = Inverse(needs);
  std::vector<std::size_t> missing;
  for (const auto& list : needs) missing.push_back(list.size());
  std::priority_queue<StepIndex, std::vector<StepIndex>, std::greater<>> ready;
  for (StepIndex step = 0; step < needs.size(); ++step) {
    if (missing[step] == 0) ready.push(step);
  }
  GraphOrder result;
  std::vector<bool> ordered(needs.size(), false);
  while (!ready.empty()) {
    const auto step = ready.top();
    ready.pop();
    result.order.push_back(step);
    ordered[step] = true;
    for (const auto next : dependants[step]) {
      if (--missing[next] == 0) ready.push(next);
    }
  }
  result.cycle = FindCycle(needs, ordered);
  return result;
}

}  // namespace slipway::launcher
