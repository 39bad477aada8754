/// The spec of a trial that is a job of its own. Pure.
#pragma once

#include "ensemble/model/trial_runner.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Each trial of the run is a job of its own (`ensemble.placement: job`), and the manager of the run is in none.
bool TrialsAreJobs(const Spec& spec);

/// A run on the nodes of one trial, whose arguments are those of the ensemble overridden by `parameters`. It keeps the
/// hash, and so goes on from checkpoints of other trials.
SpecDocument DocumentOfTrial(const SpecDocument& ensemble, ensemble::TrialNumber trial, const Json& parameters);

/// What a run submits, for showing it: the plan itself, or that of its first trial with its data as planned for the
/// run; and the folder of that.
struct SubmittedPlan {
  Plan plan;
  std::filesystem::path folder;
};
SubmittedPlan PlanSubmitted(const Plan& plan);

}  // namespace slipway::launcher
