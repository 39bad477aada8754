#include "ensemble/search/gaussian_process/log_expected_improvement.h"

#include <cmath>
#include <numbers>

namespace slipway::ensemble {
namespace {

const double kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

/// log h and its derivative, h(u) = phi(u) + u Phi(u).
struct LogH {
  double value;
  double slope;
};

LogH NearH(double u) {
  const double density = std::exp(-0.5 * u * u - kLogRootTwoPi);
  const double mass = 0.5 * std::erfc(-u / std::numbers::sqrt2);
  const double h = density + u * mass;
  return {std::log(h), mass / h};
}

/// Mills' ratio Phi(u)/phi(u) is the continued fraction 1/(x + 1/(x + 2/(x + 3/...))), x = -u. With c for all that
/// follows the first x, h = phi c / (x + c): nothing cancels.
LogH FarH(double u) {
  const double x = -u;
  double c = 0;
  for (int i = 40; i > 0; --i) c = i / (x + c);
  return {-0.5 * u * u - kLogRootTwoPi + std::log(c / (x + c)), 1 / c};
}

}  // namespace

LogExpectedImprovement LogImprovement(double mean, double deviation, double best) {
  const double u = (best - mean) / deviation;
  const LogH h = u > -5 ? NearH(u) : FarH(u);
  return {std::log(deviation) + h.value, -h.slope / deviation, (1 - u * h.slope) / deviation};
}

}  // namespace slipway::ensemble
