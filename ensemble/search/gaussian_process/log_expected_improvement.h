/// How much better than the best a trial promises to be, on a logarithmic scale.
#pragma once

namespace slipway::ensemble {

struct LogExpectedImprovement {
  double value = 0;
  double by_mean = 0;       ///< derivative by the mean
  double by_deviation = 0;  ///< derivative by the standard deviation
};

/// log E[max(best - Y, 0)] for a normal Y. `deviation` is positive. Exact to rounding at any distance, so that its
/// gradient shows the way also from places where the improvement itself would be rounded to 0.
/// Source: Ament, Daulton, Eriksson, Balandat, Bakshy: "Unexpected improvements to expected improvement", NeurIPS 2023.
LogExpectedImprovement LogImprovement(double mean, double deviation, double best);

}  // namespace slipway::ensemble
