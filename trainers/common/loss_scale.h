/// The factor of a loss, so that small gradients are not lost in fp16.
#pragma once

#include <cstdint>

#include "trainers/common/arguments.h"

namespace trainers {

/// As slipway.torch.GradScaler: half after an overflow, double after 2000 steps without.
struct LossScale {
  static constexpr double kLeast = 1e-6;  ///< below it, gradients overflow for another reason

  double factor = 0;
  std::int64_t steps = 0;  ///< since the factor last changed

  /// After the gradients of each step.
  void Update(bool overflowed);
};

/// Losses are scaled with precision fp16, and where loss_scale says so.
bool ScalesLosses(const Arguments& arguments);
LossScale FirstLossScale(const Arguments& arguments);

}  // namespace trainers
