/// A run folder with everything its manager needs, and the way back from the folder to the plan.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Makes the run folder: spec.yaml as given, plan.json as resolved, state `created`.
RunFolder PrepareRun(const Plan& plan);

/// The same for an ensemble whose trials come later: it waits for who asks for them, serves them or runs them.
RunFolder PrepareForTrials(const Plan& plan);

/// Ends a run that is ready for trials, before anybody has begun with it. Errors: Error(kBusy).
RunState CancelReady(const RunFolder& folder);

/// The resolved spec in the plan.json of a folder, as the run began or last went on.
/// Errors: Error(kEnvironment) when it is missing or damaged.
SpecDocument StoredSpec(const RunFolder& folder);

/// Plans the run of a folder anew, from the resolved spec in its plan.json: data and tiers may have changed since.
/// `overrides` (KEY=VALUE) are laid over it. To be called by who holds the manager's lock, or only looks.
/// Errors: those of StoredSpec; what ChangeSpec and MakePlan throw.
Plan ReplanRun(const RunFolder& folder, const std::vector<std::string>& overrides = {});

/// Makes the plan's changes those of the run: one rename of plan.json, which keeps all changes that there have been,
/// then an event. From then on the run is not over, whatever it was. Nothing to do without changes. Only for who holds
/// the manager's lock, to carry the run out at once.
void KeepChanges(const RunFolder& folder, const Plan& plan);

/// A change that `--set` has made.
struct PastChange {
  std::string time;  ///< UTC, ISO 8601
  FieldChange change;
};
/// All since the run began; none where plan.json cannot be read.
std::vector<PastChange> PastChanges(const RunFolder& folder);
Json ToJson(const PastChange& change);

/// Says why the run, planned anew, will not have the bits that it began with; empty when it will.
std::string RemarkOnBits(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
