/// `slipway trials pareto`: the Pareto front of a study with several objectives.
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

/// JSON: `slipway.trials.pareto/1`. With repeats the means of a configuration have the number of its first complete
/// trial. Within a front, trials in sparse regions come first, so that a few of them show the whole front.
/// Errors: those of OpenTrials; kUsage for a study with one objective.
int TrialsPareto(const TrialsParetoOptions& options, Output& output);

}  // namespace slipway::launcher
