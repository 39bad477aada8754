#include "ensemble/manager/next_trial.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/schedulers/explore.h"
#include "ensemble/schedulers/signed_rank.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {
namespace {

/// (value of ours, value of theirs) for each repeat that both have completed; lower is better.
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

/// Why the repeat `trial` is not worth running; nothing: run it. Only with the scheduler `wilcoxon`.
/// It compares the runs of this configuration, pair by pair, with those of the best one with the same repeat numbers
/// (signed_rank.h). If they are significantly worse, the repeat is not worth running.
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

/// The next queued trial that is worth running. Repeats of a configuration that is worse than the best are pruned.
std::optional<TrialNumber> NextQueued(const EnsembleOptions& options, OpenStudy& study, Changes& changes) {
  while (const auto queued = study.TakeQueued()) {
    const auto why_not = WhyNotWorthRepeating(study, options, *queued);
    if (!why_not) return queued;
    TrialRecord& trial = study.Edit(*queued);
    trial.state = TrialState::kPruned;
    trial.reason = *why_not;
    study.Changed(*queued);
    changes.settled.push_back(trial);
  }
  return std::nullopt;
}

/// Of the copies of `parent` that have not ended: two that train the same would be a waste.
std::set<std::string> ConfigurationsOfCopies(const OpenStudy& study, TrialNumber parent) {
  std::set<std::string> configurations;
  for (const auto& trial : study.trials().trials()) {
    if (trial.parent == parent && !IsFinal(trial.state)) configurations.insert(trial.configuration);
  }
  return configurations;
}

/// Queues the next configuration; false when there is none for now.
bool Begin(const EnsembleOptions& options, OpenStudy& study, const Scheduler& scheduler, Changes& changes) {
  const TrialNumber next = study.NextConfiguration();
  if (!study.HasBudget() || !scheduler.MayBegin(next)) return false;
  const auto descent = scheduler.Descend(next);
  if (!descent) return study.Ask(changes);
  const auto& parent = study.at(descent->parent);
  const auto copies = ConfigurationsOfCopies(study, parent.number);
  study.Add(Explore(options.space, parent.parameters, options.seed, next, copies), std::string(kVariedOrigin),
            parent.number, changes);
  return true;
}

}  // namespace

std::optional<TrialNumber> NextTrial(const EnsembleOptions& options, OpenStudy& study, Scheduler& scheduler,
                                     Changes& changes) {
  while (true) {
    if (const auto queued = NextQueued(options, study, changes)) return queued;
    if (const auto promoted = scheduler.Promote()) return promoted;
    if (Begin(options, study, scheduler, changes)) continue;
    return scheduler.Finish(study.trials());
  }
}

}  // namespace slipway::ensemble
