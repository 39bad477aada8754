/// `slipway trials importance`: which parameters matter for the objective.
#pragma once

#include <filesystem>
#include <string>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsImportanceOptions {
  std::filesystem::path run_folder;
  std::string method = "ped-anova";  ///< one of ImportanceMethodNames()
  bool pairs = false;                ///< of fanova: also of each pair of parameters
};

/// JSON: `slipway.trials.importance/1`.
/// Errors: those of OpenTrials; kUsage for an unknown method and for fewer than ten trials with a value.
int TrialsImportance(const TrialsImportanceOptions& options, Output& output);

}  // namespace slipway::launcher
