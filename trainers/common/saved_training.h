/// A training as its checkpoints keep it. Includes libtorch's tensors.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "runtime/slipway.hpp"
#include "trainers/common/optimizers.h"
#include "trainers/common/progress.h"
#include "trainers/common/replica.h"
#include "trainers/common/settings.h"
#include "trainers/common/weight_average.h"

namespace trainers {

/// The files of a checkpoint: model.pt, averaged.pt (where weights are averaged), optimizer.pt, exchange.bin (gradients
/// on their way between ranks) and progress.json. A training continued from them is the same to the bit as one that
/// never ended. Without a place for checkpoints nothing is written.
class SavedTraining {
 public:
  /// What is saved and restored; all must outlive it.
  struct Parts {
    Replica& replica;
    Optimizer& optimizer;
    WeightAverage* average;  ///< null: weights are not averaged
  };

  SavedTraining(const Settings& settings, slipway::client::Session& session, Parts parts, Course course);

  /// To be called between optimizer steps. Collective. Errors: std::runtime_error naming a tensor whose weights are not
  /// finite. Then nothing is written, and the checkpoint before stays the newest.
  void Write(const Progress& progress);
  /// As often as the spec asks; the first rank's clock decides for all. Collective.
  bool IsDue();
  /// The progress of the checkpoint that the launcher names; nothing when it names none. Collective.
  /// Errors: std::runtime_error naming the file, and why it cannot be continued.
  std::optional<Progress> Restore();

 private:
  /// What weights are averaged to, as a network that can be loaded like that of model.pt.
  void SaveAverage(const std::filesystem::path& file);
  /// An average that the checkpoint does not hold begins with its weights.
  void RestoreAverage(const Progress& progress, const std::filesystem::path& file);

  const Settings& settings_;
  slipway::client::Session& session_;
  Parts parts_;
  Course course_;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

}  // namespace trainers
