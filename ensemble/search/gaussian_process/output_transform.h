/// Transforms values of an objective to a scale for Gaussian processes.
#pragma once

#include <span>
#include <vector>

namespace slipway::ensemble {

enum class OutputScale {
  kLinear,   ///< as they are
  kClipped,  ///< as they are, but bad values are clipped: they give no information about good ones
  kLog       ///< the logarithm of the distance from the best, in units of the best tenth; kClipped unless skewed
};

/// The transformed values, standardised to mean 0 and variance 1. All are 0 if the values do not differ. Keeps the
/// order of the values (clipped ones become equal). Takes any finite values, also the largest doubles. Cost: n log n.
std::vector<double> TransformValues(std::span<const double> values, OutputScale scale);

/// Whether kLog takes the logarithm: at least eight values, with a long tail of large ones.
bool AreSkewed(std::span<const double> values);

/// The sum, over the values, of the logarithm of the scale's slope. The density of the values is that of the
/// transformed values times the slopes: so models on different scales can be compared. For kLinear, and for kLog if the
/// values are skewed. 0 if they do not differ.
double SumOfLogSlopes(std::span<const double> values, OutputScale scale);

}  // namespace slipway::ensemble
