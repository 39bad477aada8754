/// Statistics over the seeds.
#pragma once

#include <vector>

namespace slipway::bench {

/// Linear between the order statistics; 0 of none.
double Quantile(std::vector<double> values, double part);

/// The p-value of `small` being smaller than `large` by chance: both from one distribution. Mann and Whitney's rank
/// test: one-sided, with corrections for ties and continuity. The normal approximation holds from about 8 values on
/// each side. 1 when a side is empty.
double ProbabilityOfSmaller(const std::vector<double>& small, const std::vector<double>& large);

}  // namespace slipway::bench
