/// Statistics over the seeds.
#pragma once

#include <vector>

namespace slipway::bench {

/// Linear between the order statistics; 0 of none.
double Quantile(std::vector<double> values, double part);

/// The probability that `small` would look at least so much smaller than `large` if both came from one distribution:
/// Mann and Whitney's rank test, one-sided, ties and continuity corrected, normal approximation (from about 8 values on
/// each side). 1 when a side is empty.
double ProbabilityOfSmaller(const std::vector<double>& small, const std::vector<double>& large);

}  // namespace slipway::bench
