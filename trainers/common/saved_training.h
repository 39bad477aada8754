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

namespace trainers {

/// model.pt, optimizer.pt, exchange.bin (gradients on their way between ranks) and progress.json: with them a training
/// goes on as if it had never ended, to the bit. Without a place for checkpoints nothing is written.
class SavedTraining {
 public:
  /// What is saved and restored; all must outlive it.
  struct Parts {
    Replica& replica;
    Optimizer& optimizer;
  };

  SavedTraining(const Settings& settings, slipway::client::Session& session, Parts parts, Course course);

  /// Between optimizer steps. Collective. Errors: std::runtime_error naming a tensor whose weights are not finite:
  /// nothing is written then, and the checkpoint before stays the newest.
  void Write(const Progress& progress);
  /// As often as the spec asks; the first rank's clock decides for all. Collective.
  bool IsDue();
  /// Where the checkpoint that the launcher names has left off; nothing when there is none. Collective.
  /// Errors: std::runtime_error naming the file, and why it cannot be continued with.
  std::optional<Progress> Restore();

 private:
  const Settings& settings_;
  slipway::client::Session& session_;
  Parts parts_;
  Course course_;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

}  // namespace trainers
