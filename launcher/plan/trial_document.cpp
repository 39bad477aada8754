#include "launcher/plan/trial_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace slipway::launcher {

SpecDocument DocumentOfTrial(const SpecDocument& ensemble, ensemble::TrialNumber trial, const Json& parameters) {
  auto document = ensemble;
  auto resolved = *ensemble.resolved;
  resolved["name"] = fmt::format("{}-{:05}", ensemble.spec.name, trial);
  resolved["launch"]["engine"] = "slurm";
  resolved["launch"]["nodes"] = ensemble.spec.ensemble->nodes_per_trial;
  resolved["train"]["args"] = EffectiveParameters(ensemble.spec.train, parameters);
  if (ensemble.spec.mllog) resolved["mllog"]["benchmark"] = ensemble.spec.mllog->benchmark;
  resolved["ensemble"]["placement"] = "allocation";
  resolved["ensemble"]["parallel"] = 1;
  document.spec = BuildSpec(resolved);
  document.resolved = std::make_shared<const Json>(std::move(resolved));
  document.changes.clear();
  return document;
}

SubmittedPlan PlanSubmitted(const Plan& plan) {
  const auto folder = PlannedFolder(plan);
  if (!TrialsAreJobs(plan.spec())) return {plan, folder};
  auto first = plan;
  first.document = DocumentOfTrial(plan.document, 0, Json::object());
  return {std::move(first), folder / "trials/00000"};
}

}  // namespace slipway::launcher
