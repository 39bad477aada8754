/// `slipway trials ls|best|show`: looks into the trial book of an ensemble, also while it runs.
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
};

struct TrialsBestOptions {
  std::filesystem::path run_folder;
  int limit = 5;
};

struct TrialsShowOptions {
  std::filesystem::path run_folder;
  std::int64_t trial = 0;
};

/// Each prints one answer and returns the exit code.
/// Errors: kUsage for a folder without trials, an unknown state or trial; kEnvironment for an unreadable book.

/// Ranked trials first, then the others by number; with repeats configurations, unless a state is asked for. JSON:
/// `slipway.trials/1`, whose `trials` are single ones always.
int TrialsLs(const TrialsLsOptions& options, Output& output);
/// The best complete trials or configurations; with several objectives those that no other beats. JSON:
/// `slipway.trials.best/1`.
int TrialsBest(const TrialsBestOptions& options, Output& output);
/// Parameters, attempts with their outcomes, metrics and folder of one trial. JSON: `slipway.trials.show/1`.
int TrialsShow(const TrialsShowOptions& options, Output& output);

}  // namespace slipway::launcher
