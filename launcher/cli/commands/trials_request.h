/// `slipway trials enqueue|retry`: asks the manager of an ensemble, the present or the next one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsEnqueueOptions {
  std::filesystem::path run_folder;
  std::vector<std::string> parameters;  ///< "lr=0.01"; values as in YAML, quotes are not needed
};

/// Which trials: one by its number, or all that failed, or all whose latest attempt ended like this.
struct TrialsRetryOptions {
  std::filesystem::path run_folder;
  std::optional<std::int64_t> trial;
  bool failed = false;
  std::string outcome;  ///< one of ensemble::OutcomeNames(); empty: any
};

/// Both check what they can before they ask, and wait some seconds for the answer where a manager runs. JSON:
/// `slipway.trials.request/1`.
/// Errors: kUsage for a point that is not one of the space, and for a trial that cannot be run again, or when no trial
/// is named or fits.
int TrialsEnqueue(const TrialsEnqueueOptions& options, Output& output);
int TrialsRetry(const TrialsRetryOptions& options, Output& output);

}  // namespace slipway::launcher
