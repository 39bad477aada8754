/// The normal distribution: what kernels and evolution strategies draw from.
#pragma once

namespace slipway::ensemble {

/// Exact to a few units in the last place, in the tails too.
double NormalCdf(double x);

/// The inverse of NormalCdf, exact to about 1e-15; -infinity at 0, infinity at 1.
/// Source: Wichura, algorithm AS 241 (PPND16), 1988.
double NormalQuantile(double probability);

/// P(low < X < high) of a standard normal X; keeps its relative precision far out in either tail. Borders may be
/// infinite.
double NormalMass(double low, double high);

/// The point of [low, high] below which `part` of that interval's mass lies, in standard units. In an interval without
/// mass that can be computed it is the border nearest to 0.
double TruncatedNormalQuantile(double low, double high, double part);

}  // namespace slipway::ensemble
