/// Functions of the standard normal distribution, for kernels and evolution strategies.
#pragma once

namespace slipway::ensemble {

/// Exact to a few units in the last place, in the tails too.
double NormalCdf(double x);

/// The inverse of NormalCdf, exact to about 1e-15; -infinity at 0, infinity at 1.
/// Source: Wichura, algorithm AS 241 (PPND16), 1988.
double NormalQuantile(double probability);

/// P(low < X < high) of a standard normal X. Keeps its relative precision far out in either tail. Bounds may be
/// infinite.
double NormalMass(double low, double high);

/// The quantile `part` of a standard normal truncated to [low, high]. If the mass of the interval is too small to
/// compute, it is the bound nearest to 0.
double TruncatedNormalQuantile(double low, double high, double part);

}  // namespace slipway::ensemble
