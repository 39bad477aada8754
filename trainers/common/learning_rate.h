/// The learning rate of every step: a pure function.
#pragma once

#include <cstdint>
#include <string>

namespace trainers {

struct LearningRate {
  double base = 1e-3;
  /// "linear": base * global batch / batch (Goyal et al. 2017); "sqrt": with its root (Krizhevsky 2014); "none".
  std::string scaling = "none";
  std::int64_t batch = 64;         ///< the global batch that `base` is right for
  double warmup_epochs = 0;        ///< it rises evenly from `base` / steps to its value
  std::string decay = "constant";  ///< after the warm-up: "constant", "cosine" or "linear", both to 0 at the end

  /// At global step `step` (from 0) of `epochs` epochs with `steps_per_epoch` steps each.
  ///
  /// SGD here is v = m v + g, w = w - rate v. So a change of the rate needs no momentum correction (Goyal et al.,
  /// remark 2).
  double At(std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs, std::int64_t global_batch) const;
};

}  // namespace trainers
