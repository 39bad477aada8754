#include "trainers/common/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainers {
namespace {

/// What is left of the rate when `done`, 0 to 1, of the steps after the warm-up are done.
double Left(const std::string& decay, double done) {
  if (decay == "cosine") return (1 + std::cos(std::numbers::pi * done)) / 2;
  return decay == "linear" ? 1 - done : 1;
}

}  // namespace

double LearningRate::At(std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs,
                        std::int64_t global_batch) const {
  const double growth = static_cast<double>(global_batch) / static_cast<double>(batch);
  const double peak = base * (scaling == "linear" ? growth : scaling == "sqrt" ? std::sqrt(growth) : 1);
  const double warmup = warmup_epochs * static_cast<double>(steps_per_epoch);
  const auto at = static_cast<double>(step);
  if (at < warmup) return peak * (at + 1) / std::max(warmup, 1.0);
  const double rest = static_cast<double>(epochs * steps_per_epoch) - warmup;
  return peak * Left(decay, rest > 0 ? std::min(1.0, (at - warmup) / rest) : 0);
}

}  // namespace trainers
