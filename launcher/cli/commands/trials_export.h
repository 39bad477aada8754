/// `slipway trials export`: the trials of an ensemble for other programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsExportOptions {
  std::filesystem::path run_folder;
  std::string format = "csv";                ///< csv, jsonl or optuna
  std::optional<std::filesystem::path> out;  ///< none: stdout
  bool force = false;                        ///< replaces an existing file
  bool metrics = false;                      ///< jsonl: with every reported value
  std::optional<int> best = {};              ///< only so many, best first
};

/// Exports trials in the order of their numbers, or the best ones as `trials best` has them: with repeats so many
/// configurations, with several objectives those of the Pareto front. A file appears whole or not at all, with mode
/// 0640. Each line of jsonl is the document of `trials show` without schema and folder. JSON of a written file:
/// `slipway.trials.export/1`.
/// Cost: memory for one trial's metrics at a time.
/// Errors: kUsage for options that exclude each other, an existing file, or the trial book as output; kEnvironment for
/// an unreadable book or a full disk.
int TrialsExport(const TrialsExportOptions& options, Output& output);

}  // namespace slipway::launcher
