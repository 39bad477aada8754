/// Checkpoints of a job: one directory for all ranks; the settings of rank 0 count.
///
/// Errors are the same on every rank: RuntimeError: IO; MISMATCH when ranks name different steps; ARGUMENT; STATE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/clock.h"
#include "runtime/group/communicator.h"

namespace slipway::runtime {

class Checkpoints {
 public:
  struct Settings {
    std::filesystem::path directory;    ///< SLIPWAY_CHECKPOINT_DIR; empty: checkpoints are refused
    std::filesystem::path resume_from;  ///< SLIPWAY_RESUME_FROM; empty: start fresh
    int keep = 2;
    std::string spec_hash;
  };
  explicit Checkpoints(Settings settings) : settings_(std::move(settings)) {}

  /// The private directory for `step`, the same on all ranks. Collective.
  std::filesystem::path Begin(std::int64_t step, Communicator& communicator);
  /// Publishes what Begin prepared for `step`, when every rank has come here; then removes old ones. Collective.
  void Commit(std::int64_t step, double epoch, Communicator& communicator);
  /// The verified directory to continue from, or empty. Collective.
  std::filesystem::path ResumeFrom(Communicator& communicator);

 private:
  Settings settings_;
  std::filesystem::path prepared_;  // empty: none begun
  std::int64_t prepared_step_ = -1;
  SteadyTime begun_;
};

}  // namespace slipway::runtime
