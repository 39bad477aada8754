/// `slipway trials ls|best|show`: shows the trial book of an ensemble, even while it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsLsOptions {
  std::filesystem::path run_folder;
  std::optional<std::string> state;  ///< only trials in this state
  int limit = 0;                     ///< 0: all
  std::string selector = {};         ///< RunFolder::selector()
};

struct TrialsBestOptions {
  std::filesystem::path run_folder;
  int limit = 5;
};

struct TrialsShowOptions {
  std::filesystem::path run_folder;
  std::int64_t trial = 0;
};

/// These commands print one answer and return the exit code.
/// Errors: kUsage for a folder without trials, an unknown state or trial; kEnvironment for an unreadable book.

/// Lists ranked trials first, then the others by number. With repeats it lists configurations, unless a state is given.
/// JSON: `slipway.trials/1`, whose `trials` are always single trials.
int TrialsLs(const TrialsLsOptions& options, Output& output);
/// The best complete trials or configurations; with several objectives the first Pareto front. JSON:
/// `slipway.trials.best/1`.
int TrialsBest(const TrialsBestOptions& options, Output& output);
/// Parameters, attempts with their outcomes, metrics and folder of one trial. JSON: `slipway.trials.show/1`.
int TrialsShow(const TrialsShowOptions& options, Output& output);

}  // namespace slipway::launcher
