/// What all benchmarks share.
#pragma once

#include <vector>

#include "core/json.h"

namespace slipway::bench {

/// The middle value; 0 of none.
double Median(std::vector<double> values);

/// {"host", "cores", "processor"}: what figures are worth nothing without.
Json DescribeMachine();

}  // namespace slipway::bench
