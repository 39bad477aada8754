/// Chooses the model ensemble of a run: the trials that together predict the validation records best.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/json.h"

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct SelectModelsOptions {
  std::filesystem::path run_folder;
  std::string by = "trial";           ///< what a member is; or "configuration": the average of its repeats
  std::string method = "greedy";      ///< one of SelectionMethodNames()
  std::optional<int> top;             ///< most different members; none: 3 of best, 25 of greedy
  std::optional<std::string> metric;  ///< one of SelectionMetricNames(); none: UsualMetric
  int candidates = 200;               ///< only the best so many trials or configurations are looked at
  int bags = 0;                       ///< of greedy
  std::filesystem::path out;          ///< empty: ensemble.json in the run folder
};

/// Where its file is: `out`, else ensemble.json in the run folder.
std::filesystem::path FileOf(const SelectModelsOptions& options);

/// Writes the ensemble's members, weights and scores durably to a file (`slipway.ensemble/1`; the same inputs give the
/// same bytes), and returns what the file has.
///
/// Each trial's predictions.npy is held against targets.npy of the run folder; where that has none each trial brings
/// its own, and all must be equal. Trials without these files or with damaged ones are left out, with a warning; a
/// configuration is then the average of its other repeats.
/// Errors: those of OpenTrials; kUsage for unknown words and for an ensemble without predictions; kEnvironment for
///         predictions of other records than the targets, naming both files, and for a file that cannot be written.
Json SelectModels(const SelectModelsOptions& options, Output& output);

}  // namespace slipway::launcher
