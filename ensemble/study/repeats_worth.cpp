#include "ensemble/study/repeats_worth.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ensemble/schedulers/signed_rank.h"

namespace slipway::ensemble {
namespace {

/// (value of ours, value of theirs) of the repeats that both have completed.
std::vector<std::pair<double, double>> Paired(const OpenStudy& study, const EnsembleOptions& options, TrialNumber ours,
                                              TrialNumber theirs) {
  const double sign = options.objectives.front().ValueGoal() == Goal::kMinimize ? 1 : -1;
  std::vector<std::pair<double, double>> pairs;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const auto& mine = study.at(ours + repeat);
    const auto& other = study.at(theirs + repeat);
    if (mine.state != TrialState::kComplete || other.state != TrialState::kComplete) continue;
    pairs.emplace_back(sign * *mine.objective, sign * *other.objective);
  }
  return pairs;
}

}  // namespace

std::optional<std::string> WhyNotWorthRepeating(const OpenStudy& study, const EnsembleOptions& options,
                                                TrialNumber trial) {
  const auto& record = study.at(trial);
  if (options.scheduler.type != "wilcoxon" || record.repeat == 0 || record.attempts > 0) return std::nullopt;
  const auto best = study.Best();
  const TrialNumber first = trial - record.repeat;
  if (!best || best->number == first) return std::nullopt;
  const auto pairs = Paired(study, options, first, best->number);
  if (!IsWorse(pairs, options.scheduler.p_value)) return std::nullopt;
  return fmt::format("its first {} runs are worse than those of trial {} (signed rank, p < {})", pairs.size(),
                     best->number, options.scheduler.p_value);
}

}  // namespace slipway::ensemble
