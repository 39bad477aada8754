#include "launcher/view/run_facts.h"

#include <algorithm>
#include <map>

namespace slipway::launcher {

std::vector<FailureGroup> GroupFailures(const std::vector<TrialFailure>& failures) {
  std::map<std::string, FailureGroup> by_what;
  for (const auto& failure : failures) {
    auto& group = by_what[failure.alike.empty() ? failure.what : failure.alike];
    const bool is_first = group.trials.empty() || failure.trial < *std::ranges::min_element(group.trials);
    if (is_first) group.what = failure.what;
    group.trials.push_back(failure.trial);
  }
  std::vector<FailureGroup> groups;
  for (auto& [what, group] : by_what) {
    std::sort(group.trials.begin(), group.trials.end());
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const FailureGroup& a, const FailureGroup& b) {
    if (a.trials.size() != b.trials.size()) return a.trials.size() > b.trials.size();
    return a.trials.front() < b.trials.front();
  });
  return groups;
}

}  // namespace slipway::launcher
