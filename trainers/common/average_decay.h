/// How much of a moving average each step keeps: a pure function.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainers {

/// What the average keeps at its update number `update`, from 0: min(decay, (1 + update) / (10 + update)). So an
/// average with a long memory does not hold on to the first weights. Arguments::ema is `decay`.
inline double AverageDecay(double decay, std::int64_t update) {
  const auto count = static_cast<double>(update);
  return std::min(decay, (1 + count) / (10 + count));
}

}  // namespace trainers
