/// How much of a moving average each step keeps: a pure function.
#pragma once

#include <cstdint>

namespace trainers {

/// What the average keeps at its update number `update`, from 0: min(decay, (1 + update) / (10 + update)). So an
/// average with a long memory does not hold on to the first weights. Arguments::ema is `decay`.
double AverageDecay(double decay, std::int64_t update);

}  // namespace trainers
