/// `slipway trials pareto`: the trials of a study with several objectives that no other trial beats.
#pragma once

#include <filesystem>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsParetoOptions {
  std::filesystem::path run_folder;
  bool all = false;  ///< all complete trials, front by front, instead of the first front
  int limit = 0;     ///< 0: no limit
};

/// JSON: `slipway.trials.pareto/1`. With repeats the means of configurations stand under the number of their first
/// complete trial. Within a front those with much room come first, so that a few of them show it all.
/// Errors: those of OpenTrials; kUsage for a study with one objective.
int TrialsPareto(const TrialsParetoOptions& options, Output& output);

}  // namespace slipway::launcher
