/// Check sums of a team's gradients, before and after the exchange, for finding where two runs part.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exchange/tensors.h"
#include "runtime/report/sums_file.h"

namespace slipway::runtime {

/// Programs that register a team again and again get files for the first ones.
inline constexpr int kMostTeamsWithSums = 64;

/// What does not depend on the team.
struct SumsSettings {
  int every = 0;                 ///< steps between lines; 0: none
  std::filesystem::path folder;  ///< of the attempt; empty: none
  int rank = 0;
  int ranks = 1;
  bool resumed = false;  ///< from a checkpoint
};

/// A line is written when a step has its result. With delayed gradients that is some steps later.
///
/// Cost: of every `every`th step, two passes over the gradients and one write; of other steps, a division.
class StepSums {
 public:
  StepSums(int every, SumsFile file) : every_(every), file_(std::move(file)) {}

  /// The rank's own gradient is final and not exchanged yet.
  void TakeGradient(std::int64_t step, int index, const TensorInfo& tensor);
  /// The tensors hold what the exchange made of the gradients of `step`, and nothing was done with it.
  void TakeResult(std::int64_t step, std::span<const TensorInfo> tensors);
  /// The steps up to `last_step` give no result of their own: refused, or added to another step.
  void TakeNoResult(std::int64_t last_step);

 private:
  bool IsDue(std::int64_t step) const { return step % every_ == 0 && !file_.failed(); }

  int every_;
  SumsFile file_;
  std::deque<SumsLine> open_;  ///< steps without a result so far, oldest first
};

/// Of the team with this number (from 1). Null when none are to be written.
std::unique_ptr<StepSums> MakeStepSums(const SumsSettings& settings, int team_number, const std::string& team,
                                       std::span<const TensorInfo> tensors);

}  // namespace slipway::runtime
