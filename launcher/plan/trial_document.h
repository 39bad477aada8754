/// The spec of a trial that is a job of its own. Pure.
#pragma once

#include "ensemble/model/trial_runner.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The spec of one trial: a run on the trial's nodes, with the ensemble's arguments overridden by `parameters`. It
/// keeps the hash, so it can continue from checkpoints of other trials.
SpecDocument DocumentOfTrial(const SpecDocument& ensemble, ensemble::TrialNumber trial, const Json& parameters);

/// What a run submits, for display: the plan itself, or that of its first trial, with its folder. The trial's plan
/// keeps the data plan of the run.
struct SubmittedPlan {
  Plan plan;
  std::filesystem::path folder;
};
SubmittedPlan PlanSubmitted(const Plan& plan);

}  // namespace slipway::launcher
