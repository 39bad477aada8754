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
  std::string method = "greedy";      ///< a word of ensemble::SelectionMethod
  std::optional<int> top;             ///< most different members; none: 3 of best, 25 of greedy
  std::optional<std::string> metric;  ///< a word of ensemble::SelectionMetric; none: UsualMetric
  int candidates = 200;               ///< only so many of the best trials or configurations are considered
  int bags = 0;                       ///< of greedy
  std::filesystem::path out;          ///< empty: ensemble.json in the run folder
};

/// The file of the ensemble: `out`, else ensemble.json in the run folder.
std::filesystem::path FileOf(const SelectModelsOptions& options);

/// Writes the ensemble's members, weights and scores durably to a file, and returns the file's content
/// (`slipway.ensemble/1`). The same inputs give the same bytes.
///
/// Each trial's predictions.npy is compared with targets.npy of the run folder. Without that file each trial has its
/// own targets, which must all be equal. Trials with missing or damaged files are left out, with a warning. A
/// configuration is then the average of its other repeats.
///
/// Errors: those of OpenTrials. kUsage: unknown words, or an ensemble without predictions. kEnvironment: a file that
/// cannot be written, or predictions of other records than the targets, naming both files.
Json SelectModels(const SelectModelsOptions& options, Output& output);

}  // namespace slipway::launcher
