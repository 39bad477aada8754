/// `slipway trials enqueue|retry`: sends requests to the present or next manager of an ensemble.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/space/space.h"

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsEnqueueOptions {
  std::filesystem::path run_folder;
  std::string selector;                 ///< RunFolder::selector()
  std::vector<std::string> parameters;  ///< "lr=0.01"; values as in YAML, quotes are not needed
  /// The search space of the plan: for a run whose study has not begun.
  std::function<ensemble::SearchSpace()> planned_space;
};

/// Which trials: one by number, all that failed, or all whose latest attempt ended with `outcome`.
struct TrialsRetryOptions {
  std::filesystem::path run_folder;
  std::string selector;  ///< RunFolder::selector()
  std::optional<std::int64_t> trial;
  bool failed = false;
  std::string outcome;  ///< a word of ensemble::Outcome; empty: any
};

/// Both check what they can before they send the request. While a manager runs, they wait some seconds for its answer.
/// JSON: `slipway.trials.request/1`.
/// Errors: kUsage for a point outside the search space, for a trial that cannot be run again, and when no trial is
/// named or matches.
int TrialsEnqueue(const TrialsEnqueueOptions& options, Output& output);
int TrialsRetry(const TrialsRetryOptions& options, Output& output);

}  // namespace slipway::launcher
