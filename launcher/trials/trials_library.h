/// The predictions that the trials of an ensemble have left behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ensemble/analysis/predictions.h"
#include "launcher/trials/trials_documents.h"

namespace slipway::launcher {

struct LeftOut {
  ensemble::TrialNumber trial = 0;
  std::string reason;
};

struct TrialsLibrary {
  ensemble::Targets targets;
  std::vector<RankedTrial> trials;                 ///< in the order given
  std::vector<ensemble::Predictions> predictions;  ///< of each of `trials`
  std::vector<LeftOut> left_out;

  /// Changes when any byte of a file, or the set of trials, does.
  std::string Hash() const;
};

/// Reads predictions.npy of each trial, and targets.npy of the run folder or, where it has none, of each trial.
/// Cost:   memory of all predictions.
/// Errors: Error(kEnvironment): damaged targets in the run folder, trials whose own targets differ; Error(kUsage) when
/// no
///         trial has predictions, saying how a program hands them over. What is wrong with one trial leaves it out.
TrialsLibrary ReadLibrary(const std::filesystem::path& run_folder, const std::vector<RankedTrial>& trials);

}  // namespace slipway::launcher
