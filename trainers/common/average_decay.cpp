#include "trainers/common/average_decay.h"

#include <algorithm>

namespace trainers {

double AverageDecay(double decay, std::int64_t update) {
  const auto count = static_cast<double>(update);
  return std::min(decay, (1 + count) / (10 + count));
}

}  // namespace trainers
