#include "launcher/cli/explain/trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kGroupsShown = 5;
constexpr std::size_t kTrialsNamed = 5;

std::string Counts(const RunFacts& facts) {
  const auto text = [](const auto& state) { return fmt::format("{} {}", state.second, state.first); };
  return "trials: " + JoinEach(facts.trials, ", ", text);
}

std::string Line(const FailureGroup& group) {
  const std::vector<ensemble::TrialNumber> named(
      group.trials.begin(),
      group.trials.begin() + static_cast<std::ptrdiff_t>(std::min(kTrialsNamed, group.trials.size())));
  return fmt::format("{} {} ({}{})", Counted(group.trials.size(), "trial"), group.what, fmt::join(named, ", "),
                     group.trials.size() > named.size() ? ", ..." : "");
}

std::string HowToReport(const std::string& metric) {
  const Json line{{"step", 1}, {"metrics", {{metric, 0.5}}}};
  return fmt::format(
      "have it report '{}': lines such as {} in the file of $SLIPWAY_METRICS, or a pattern of what it "
      "prints (train.metrics)",
      metric, line.dump());
}

void AddFailure(const FailureGroup& group, Explanation& explanation) {
  const auto about = fmt::format("  trial {}: ", group.trials.front());
  explanation.because.push_back(Line(group));
  if (group.unmatched) AddUnmatched(*group.unmatched, about, explanation);
  for (const auto& unread : group.unread) explanation.because.push_back(about + Describe(unread));
  if (!group.last_line.empty()) {
    explanation.because.push_back(
        fmt::format("  the last words of trial {}: {}", group.trials.front(), group.last_line));
  }
}

/// Of the commonest failure.
void AddNextSteps(const FailureGroup& group, const RunFacts& facts, Explanation& explanation) {
  if (!group.unreported.empty()) {
    explanation.next.insert(explanation.next.begin(), HowToReport(group.unreported));  // before they are tried again
  }
  if (group.unmatched && !facts.has_results) {
    explanation.next.push_back(
        fmt::format("if it is in the pattern: slipway trials retry --failed {0} && slipway resume "
                    "{0} --set train.metrics.pattern='PATTERN'",
                    facts.selector));
  }
  const auto first = group.trials.front();
  explanation.next.push_back(
      group.has_folder ? fmt::format("read what it wrote: slipway logs {} --trial {}", facts.selector, first)
                       : fmt::format("see what is known of it: slipway trials show {} {}", first, facts.selector));
}

}  // namespace

void ExplainTrials(const RunFacts& facts, Explanation& explanation) {
  if (!facts.trials_trouble.empty()) {
    explanation.because.push_back("its trials cannot be read: " + facts.trials_trouble);
    if (!facts.trials_remedy.empty()) explanation.next.push_back("to see the trials: " + facts.trials_remedy);
  }
  if (facts.trials.empty()) return;
  explanation.because.push_back(Counts(facts));
  const auto shown = std::min(kGroupsShown, facts.failures.size());
  for (std::size_t i = 0; i < shown; ++i) AddFailure(facts.failures[i], explanation);
  if (shown < facts.failures.size()) {
    explanation.because.push_back(fmt::format("and {} other ways to fail", facts.failures.size() - shown));
  }
  if (!facts.failures.empty()) AddNextSteps(facts.failures.front(), facts, explanation);
}

}  // namespace slipway::launcher
