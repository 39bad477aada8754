#include "ensemble/search/numbers/bounded_minimum.h"

#include <LBFGSB.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace slipway::ensemble {
namespace {

using Vector = Eigen::VectorXd;

std::span<const double> Seen(const Vector& vector) { return {vector.data(), static_cast<std::size_t>(vector.size())}; }
Vector Copied(const std::vector<double>& values) {
  return Vector::Map(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// Remembers the best place: the solver forgets it when it throws.
struct Watched {
  const SmoothFunction& function;
  Minimum best;

  double operator()(const Vector& at, Vector& gradient) {
    const double value = function(Seen(at), {gradient.data(), static_cast<std::size_t>(gradient.size())});
    if (!std::isfinite(value) || !gradient.allFinite()) throw std::domain_error("not finite");
    if (value < best.value) best = {{at.begin(), at.end()}, value};
    return value;
  }
};

}  // namespace

Minimum FindMinimum(const SmoothFunction& function, std::vector<double> start, const Bounds& bounds,
                    int max_iterations) {
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = std::clamp(start[i], bounds.low[i], bounds.high[i]);
  Watched watched{function, {start, std::numeric_limits<double>::infinity()}};
  LBFGSpp::LBFGSBParam<double> settings;
  settings.max_iterations = max_iterations;
  settings.epsilon = settings.epsilon_rel = 1e-6;
  LBFGSpp::LBFGSBSolver<double> solver(settings);
  Vector at = Copied(start);
  double value = 0;
  try {
    solver.minimize(watched, at, value, Copied(bounds.low), Copied(bounds.high));
  } catch (const std::exception&) {
    // Its line search gives up where rounding errors rule: what was found until then counts.
  }
  return watched.best;
}

}  // namespace slipway::ensemble
