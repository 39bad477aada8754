#include "ensemble/search/gaussian_process/correlation.h"

namespace slipway::ensemble {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;

// Variance of all axes together beside the sum over pairs. Without it the model would be too sure of functions that are
// not exactly such a sum.
constexpr double kRest = 0.01;

/// Of each distance by itself, in its place.
struct Parts {
  ArrayXXd values;
  ArrayXXd slopes;
};

ArrayXXd ValuesAt(const Eigen::Ref<const ArrayXXd>& squares, Smoothness smoothness) {
  if (smoothness == Smoothness::kAnalytic) return (-0.1 * squares).exp();
  const ArrayXXd r = squares.sqrt();
  return (1 + r + squares / 3) * (-r).exp();
}

Parts PartsAt(const Eigen::Ref<const ArrayXXd>& squares, Smoothness smoothness) {
  if (smoothness == Smoothness::kAnalytic) {
    const ArrayXXd values = (-0.1 * squares).exp();
    return {values, 0.2 * values};
  }
  const ArrayXXd r = squares.sqrt();
  const ArrayXXd decay = (-r).exp();
  return {(1 + r + squares / 3) * decay, (1 + r) * decay / 3};
}

/// Half the variance belongs to single axes, half to pairs. The sums over both are elementary symmetric polynomials, of
/// first and second degree; each is divided by its number of terms.
struct PairWeights {
  explicit PairWeights(Eigen::Index axes)
      : of_single(0.5 / static_cast<double>(axes)), of_pair(1 / static_cast<double>(axes * (axes - 1))) {}

  ArrayXd Sum(const ArrayXXd& of_axes) const {
    const ArrayXd sum = of_axes.rowwise().sum();
    return of_single * sum + 0.5 * of_pair * (sum.square() - of_axes.square().rowwise().sum());
  }

  double of_single;
  double of_pair;
};

}  // namespace

ArrayXd CorrelationValueAt(const Eigen::Ref<const ArrayXXd>& squares, const Shape& shape) {
  const ArrayXXd values = ValuesAt(squares, shape.smoothness);
  if (shape.interactions == Interactions::kAll) return values.col(0);
  const ArrayXXd rest = ValuesAt(squares.rowwise().sum(), shape.smoothness);
  return (1 - kRest) * PairWeights(squares.cols()).Sum(values) + kRest * rest.col(0);
}

Correlation CorrelationAt(const Eigen::Ref<const ArrayXXd>& squares, const Shape& shape) {
  auto parts = PartsAt(squares, shape.smoothness);
  if (shape.interactions == Interactions::kAll) return {parts.values.col(0), std::move(parts.slopes)};
  const PairWeights weights(squares.cols());
  const auto rest = PartsAt(squares.rowwise().sum(), shape.smoothness);
  const ArrayXd sum = parts.values.rowwise().sum();
  for (Eigen::Index i = 0; i < squares.cols(); ++i) {
    const ArrayXd by_value = (1 - kRest) * (weights.of_single + weights.of_pair * (sum - parts.values.col(i)));
    parts.slopes.col(i) = by_value * parts.slopes.col(i) + kRest * rest.slopes.col(0);
  }
  return {(1 - kRest) * weights.Sum(parts.values) + kRest * rest.values.col(0), std::move(parts.slopes)};
}

}  // namespace slipway::ensemble
