#include "ensemble/search/gaussian_process/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "ensemble/search/gaussian_process/correlation.h"

namespace slipway::ensemble {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Eigen::Map<const MatrixXd> Places(std::span<const double> places, std::size_t features) {
  const auto rows = static_cast<Index>(features);
  return {places.data(), rows, static_cast<Index>(places.size()) / std::max<Index>(rows, 1)};
}

// Below this, rounding errors dominate.
constexpr double kLeastVariance = 1e-18;

}  // namespace

struct GaussianProcess::Factor {
  Factor(const Kernel& kernel, const FeatureMap& map, const TrainingSet& data);

  /// Of the steps from a place to all of the data.
  Correlation CorrelationOf(const Eigen::Ref<const MatrixXd>& steps) const {
    return CorrelationAt(SquaresOf(steps), shape);
  }
  /// 5 times the squared distances in units of the lengths, in the columns that the shape wants.
  ArrayXXd SquaresOf(const Eigen::Ref<const MatrixXd>& steps) const;
  ArrayXXd Trend(const Eigen::Ref<const MatrixXd>& others) const;
  MatrixXd Covariances(const Eigen::Ref<const MatrixXd>& others) const;
  double OwnVariance(const Eigen::Ref<const VectorXd>& place) const {
    const double product = trend_scale * place.squaredNorm();
    const double curvature = 4 * trend_scale * place.cwiseAbs2().squaredNorm();
    return variance + trend_variance * (1 + product + curvature + product * product);
  }

  MatrixXd places;               // features x n
  VectorXd weights;              // 5 / length^2 of each feature
  std::vector<Index> column_of;  // the distance that a feature counts for: its axis, or 0 of all axes together
  Shape shape;
  double variance;
  double trend_variance;
  double trend_scale;
  double noise;      // with what was added for the factor's sake
  MatrixXd inverse;  // of the lower Cholesky factor
  VectorXd alpha;
};

GaussianProcess::Factor::Factor(const Kernel& kernel, const FeatureMap& map, const TrainingSet& data)
    : places(Places(data.places, map.size())),
      weights(static_cast<Index>(map.size())),
      shape(kernel.shape),
      variance(kernel.variance),
      trend_variance(kernel.trend),
      trend_scale(4.0 / static_cast<double>(map.axes())),
      noise(kernel.noise + Jitter(kernel)) {
  for (const auto axis : map.axis_of()) {
    const double length = kernel.lengths[axis];
    weights(static_cast<Index>(column_of.size())) = 5 / (length * length);
    column_of.push_back(shape.interactions == Interactions::kAll ? 0 : static_cast<Index>(axis));
  }
  const auto size = static_cast<Index>(data.size());
  const MatrixXd covariances = Covariances(places);
  Eigen::LLT<MatrixXd> factor;
  for (;; noise *= 10) {
    factor.compute(covariances + noise * MatrixXd::Identity(size, size));
    if (factor.info() == Eigen::Success) break;
  }
  inverse = MatrixXd::Identity(size, size);
  factor.matrixL().solveInPlace(inverse);
  alpha = factor.solve(VectorXd::Map(data.values.data(), size));
}

ArrayXXd GaussianProcess::Factor::SquaresOf(const Eigen::Ref<const MatrixXd>& steps) const {
  if (shape.interactions == Interactions::kAll) return (weights.transpose() * steps.cwiseAbs2()).transpose().array();
  ArrayXXd squares = ArrayXXd::Zero(steps.cols(), column_of.back() + 1);
  for (Index feature = 0; feature < steps.rows(); ++feature) {
    squares.col(column_of[static_cast<std::size_t>(feature)]) +=
        weights(feature) * steps.row(feature).array().square().transpose();
  }
  return squares;
}

ArrayXXd GaussianProcess::Factor::Trend(const Eigen::Ref<const MatrixXd>& others) const {
  const ArrayXXd products = (trend_scale * places.transpose() * others).array();
  const ArrayXXd curvatures = (4 * trend_scale * places.cwiseAbs2().transpose() * others.cwiseAbs2()).array();
  return 1 + products + curvatures + products.square();
}

MatrixXd GaussianProcess::Factor::Covariances(const Eigen::Ref<const MatrixXd>& others) const {
  ArrayXXd correlations(places.cols(), others.cols());
  for (Index i = 0; i < others.cols(); ++i) {
    correlations.col(i) = CorrelationValueAt(SquaresOf(places.colwise() - others.col(i)), shape);
  }
  return variance * correlations + trend_variance * Trend(others);
}

GaussianProcess::GaussianProcess(Kernel kernel, const FeatureMap& map, TrainingSet data)
    : kernel_(std::move(kernel)), data_(std::move(data)), factor_(std::make_unique<Factor>(kernel_, map, data_)) {}

GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;

std::vector<double> GaussianProcess::Means() const {
  const VectorXd means =
      VectorXd::Map(data_.values.data(), static_cast<Index>(data_.size())) - factor_->noise * factor_->alpha;
  return {means.begin(), means.end()};
}

Posterior GaussianProcess::At(std::span<const double> features) const { return AtAll(features).front(); }

std::vector<Posterior> GaussianProcess::AtAll(std::span<const double> features) const {
  const auto others = Places(features, static_cast<std::size_t>(factor_->places.rows()));
  const MatrixXd covariances = factor_->Covariances(others);
  const VectorXd means = covariances.transpose() * factor_->alpha;
  const VectorXd known =
      (factor_->inverse.triangularView<Eigen::Lower>() * covariances).colwise().squaredNorm().transpose();
  std::vector<Posterior> posteriors;
  for (Index i = 0; i < others.cols(); ++i) {
    const double variance = factor_->OwnVariance(others.col(i)) - known(i);
    posteriors.push_back({means(i), std::sqrt(std::max(variance, kLeastVariance))});
  }
  return posteriors;
}

/// The covariances of one place with all of the data, in the parts that their slopes need.
struct GaussianProcess::Slopes {
  Slopes(const Factor& factor, const VectorXd& place);

  /// The gradient of the covariances' sum, each weighed by a member of `by`.
  VectorXd Weighed(const VectorXd& by) const;
  /// Half the gradient of the place's own variance.
  VectorXd Own() const;

  const Factor& f;
  const VectorXd& place;
  MatrixXd steps;    // towards the data
  ArrayXXd by_step;  // by half the squared distances, a column for each of them
  ArrayXd product;
  VectorXd covariance;
};

GaussianProcess::Slopes::Slopes(const Factor& factor, const VectorXd& at)
    : f(factor), place(at), steps(f.places.colwise() - at) {
  const auto correlation = f.CorrelationOf(steps);
  by_step = f.variance * correlation.slopes;
  product = (f.trend_scale * f.places.transpose() * place).array();
  covariance = (f.variance * correlation.value + f.trend_variance * f.Trend(place).col(0)).matrix();
}

VectorXd GaussianProcess::Slopes::Weighed(const VectorXd& by) const {
  const VectorXd by_data = ((1 + 2 * product) * by.array()).matrix();
  const VectorXd trend = f.places * by_data + 8 * (f.places.cwiseAbs2() * by).cwiseProduct(place);
  const ArrayXXd by_square = by_step.colwise() * by.array();
  VectorXd weighed(place.size());
  if (f.shape.interactions == Interactions::kAll) {
    weighed = f.weights.cwiseProduct(steps * by_square.matrix());
  } else {
    for (Index feature = 0; feature < weighed.size(); ++feature) {
      const Index column = f.column_of[static_cast<std::size_t>(feature)];
      weighed(feature) = f.weights(feature) * steps.row(feature).dot(by_square.col(column).matrix());
    }
  }
  return weighed + f.trend_variance * f.trend_scale * trend;
}

VectorXd GaussianProcess::Slopes::Own() const {
  const double own_product = f.trend_scale * place.squaredNorm();
  return f.trend_variance * f.trend_scale * ((1 + 2 * own_product) * place + 8 * place.cwiseAbs2().cwiseProduct(place));
}

Posterior GaussianProcess::At(std::span<const double> features, std::span<double> by_mean,
                              std::span<double> by_deviation) const {
  const VectorXd place = VectorXd::Map(features.data(), static_cast<Index>(features.size()));
  const Slopes slopes(*factor_, place);
  const VectorXd half = factor_->inverse.triangularView<Eigen::Lower>() * slopes.covariance;
  const VectorXd solved = factor_->inverse.transpose().triangularView<Eigen::Upper>() * half;
  const double variance = factor_->OwnVariance(place) - half.squaredNorm();
  const Posterior posterior{slopes.covariance.dot(factor_->alpha), std::sqrt(std::max(variance, kLeastVariance))};
  VectorXd::Map(by_mean.data(), place.size()) = slopes.Weighed(factor_->alpha);
  VectorXd::Map(by_deviation.data(), place.size()) = (slopes.Own() - slopes.Weighed(solved)) / posterior.deviation;
  return posterior;
}

}  // namespace slipway::ensemble
