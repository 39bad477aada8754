/// `slipway trials importance`: which parameters matter for the objective.
#pragma once

#include <filesystem>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsImportanceOptions {
  std::filesystem::path run_folder;
  bool pairs = false;  ///< also of each pair of parameters
};

/// JSON: `slipway.trials.importance/1`.
/// Errors: those of OpenTrials; kUsage for fewer than ten trials with a value.
int TrialsImportance(const TrialsImportanceOptions& options, Output& output);

}  // namespace slipway::launcher
