#include "ensemble/search/gaussian_process/correlation.h"

namespace slipway::ensemble {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;

// What all axes together may add to a sum over pairs: else a function that is not quite one would be known everywhere.
constexpr double kRest = 0.01;

/// Of each distance by itself, in its place.
struct Parts {
  ArrayXXd values;
  ArrayXXd slopes;
};

Parts PartsAt(const Eigen::Ref<const ArrayXXd>& squares, Smoothness smoothness) {
  if (smoothness == Smoothness::kAnalytic) {
    const ArrayXXd values = (-0.1 * squares).exp();
    return {values, 0.2 * values};
  }
  const ArrayXXd r = squares.sqrt();
  const ArrayXXd decay = (-r).exp();
  return {(1 + r + squares / 3) * decay, (1 + r) * decay / 3};
}

/// Half the variance is that of single axes, half that of pairs: the elementary symmetric polynomials of first and
/// second degree.
Correlation SumOverPairs(const Parts& of_axes) {
  const auto axes = static_cast<double>(of_axes.values.cols());
  const double of_single = 0.5 / axes;
  const double of_pair = 1 / (axes * (axes - 1));
  const ArrayXd sum = of_axes.values.rowwise().sum();
  const ArrayXd pairs = 0.5 * (sum.square() - of_axes.values.square().rowwise().sum());
  Correlation all{of_single * sum + of_pair * pairs, of_axes.slopes};
  for (Eigen::Index i = 0; i < of_axes.values.cols(); ++i) {
    all.slopes.col(i) *= of_single + of_pair * (sum - of_axes.values.col(i));
  }
  return all;
}

}  // namespace

Correlation CorrelationAt(const Eigen::Ref<const ArrayXXd>& squares, const Shape& shape) {
  const auto parts = PartsAt(squares, shape.smoothness);
  if (shape.interactions == Interactions::kAll) return {parts.values.col(0), parts.slopes};
  auto correlation = SumOverPairs(parts);
  const auto rest = PartsAt(squares.rowwise().sum(), shape.smoothness);
  correlation.value = (1 - kRest) * correlation.value + kRest * rest.values.col(0);
  correlation.slopes = ((1 - kRest) * correlation.slopes).colwise() + kRest * rest.slopes.col(0);
  return correlation;
}

}  // namespace slipway::ensemble
