/// Makes run folders with everything that a manager needs, and reads the plan back from them.
#pragma once

#include <string>
#include <vector>

#include "ensemble/model/records.h"
#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Makes the run folder: spec.yaml as given, plan.json as resolved, provenance.json, state `created`.
RunFolder PrepareRun(const Plan& plan);

/// The same for an ensemble whose trials come later: it waits until trials are asked for, served or run.
RunFolder PrepareForTrials(const Plan& plan);

/// Cancels a run that is ready for trials, before its first trial. Errors: Error(kBusy).
RunState CancelReady(const RunFolder& folder);

/// The resolved spec in plan.json of a folder, as of the run's start or last resume.
/// Errors: Error(kEnvironment) when it is missing or damaged.
SpecDocument StoredSpec(const RunFolder& folder);

/// Later trials build on it: the trial has values that were ranked or judged, or may get them.
bool HasResult(ensemble::TrialState state);

/// What may change in the run of a folder. Cost: with an ensemble, reads its trials.
RunKind KindOf(const RunFolder& folder, const Spec& spec);

/// Plans the run of a folder again from the resolved spec in its plan.json, because data and tiers may have changed.
/// `overrides` (KEY=VALUE) apply on top of it. The caller holds the manager's lock, or writes nothing.
/// Errors: those of StoredSpec; what ChangeSpec and MakePlan throw.
Plan ReplanRun(const RunFolder& folder, const std::vector<std::string>& overrides = {});

/// Stores the plan's changes in the run: one rename of plan.json, which keeps all earlier changes, then an event. After
/// it the run counts as not ended. Does nothing without changes. The caller must hold the manager's lock and carry out
/// the run at once.
void KeepChanges(const RunFolder& folder, const Plan& plan);

/// A change that `--set` has made.
struct PastChange {
  std::string time;  ///< UTC, ISO 8601
  FieldChange change;
};
/// All changes since the run began; empty when plan.json cannot be read.
std::vector<PastChange> PastChanges(const RunFolder& folder);
Json ToJson(const PastChange& change);

/// Why the new plan will not reproduce the bits of the run; empty when it will.
std::string RemarkOnBits(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
