/// A small ensemble whose manager is killed: the plan that tests and the benchmark give to the manager's process.
#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

struct KillPlan {
  std::string name;
  int trials = 20;
  int parallel = 1;
  std::string sampler = "random";
  std::string scheduler = "none";
  int steps = 1;         ///< of a whole trial
  bool stubborn = true;  ///< some trials go on without their manager
  int enqueued = 0;      ///< trials that are asked for by requests while it runs
};

/// Every trial's result depends on the trial alone and one runs at a time: whatever kills the manager, the study
/// becomes the same.
inline bool IsSequential(const KillPlan& plan) { return plan.parallel == 1 && !plan.stubborn && plan.enqueued == 0; }

Json ToJson(const KillPlan& plan);
KillPlan KillPlanFromJson(const Json& json);

/// Maximises "accuracy" over x, y and kind.
EnsembleOptions OptionsOf(const KillPlan& plan, const std::filesystem::path& folder);

}  // namespace slipway::ensemble
