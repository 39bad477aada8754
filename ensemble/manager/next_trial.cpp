#include "ensemble/manager/next_trial.h"

#include "ensemble/schedulers/explore.h"
#include "ensemble/study/repeats_worth.h"

namespace slipway::ensemble {
namespace {

/// Repeats of a configuration that has already shown to be worse than the best are not worth running.
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

/// Lines up the next configuration; false when there is none for now.
bool Begin(const EnsembleOptions& options, OpenStudy& study, const Scheduler& scheduler, Changes& changes) {
  const TrialNumber next = study.NextConfiguration();
  if (!study.HasRoom() || !scheduler.MayBegin(next)) return false;
  const auto descent = scheduler.Descend(next);
  if (!descent) return study.Ask(changes);
  const auto& parent = study.at(descent->parent);
  study.Add(Explore(options.space, parent.parameters, options.seed, next), std::string(kVariedOrigin), parent.number,
            changes);
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
