/// Values of an objective on a scale on which a Gaussian process can learn.
#pragma once

#include <span>
#include <vector>

namespace slipway::ensemble {

enum class OutputScale {
  kLinear,   ///< as they are
  kClipped,  ///< as they are, but bad values are cut off: they tell nothing about good ones
  kLog       ///< the logarithm of the distance from the best, in units of the best tenth; kClipped unless skewed
};

/// Standardised: mean 0 and variance 1; all 0 when the values do not differ. Keeps the order of the values (clipped
/// ones become equal). Any finite values, also the largest that there are. Cost: n log n.
std::vector<double> TransformValues(std::span<const double> values, OutputScale scale);

/// Whether one end of the values is so much longer than the other that kLog is the logarithm.
bool AreSkewed(std::span<const double> values);

/// The logarithm of the slope that the scale has at a value, summed over the values: the density of the values is that
/// of the transformed ones times the slopes, so that models on different scales can be compared. Of kLinear, and of
/// kLog where the values are skewed; 0 when they do not differ.
double SumOfLogSlopes(std::span<const double> values, OutputScale scale);

}  // namespace slipway::ensemble
