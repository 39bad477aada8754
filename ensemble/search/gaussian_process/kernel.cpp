#include "ensemble/search/gaussian_process/kernel.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ensemble/search/gaussian_process/correlation.h"
#include "ensemble/search/numbers/bounded_minimum.h"

namespace slipway::ensemble {
namespace {

// The root mean square distance of two random places of an axis is the root of 1/6.
const double kInactiveOffset = std::sqrt(1.0 / 6.0);
constexpr double kCategory = 1 / std::numbers::sqrt2;

}  // namespace

FeatureMap::FeatureMap(const Encoding& encoding) {
  for (const auto& axis : encoding.axes()) {
    const bool conditional = encoding.space().parameters()[axis.parameter].when.has_value();
    const bool categorical = axis.kind == AxisKind::kCategorical;
    blocks_.push_back({axis.kind, size(), categorical ? axis.values : 0, conditional && !categorical, 0.5});
    const std::size_t columns = categorical ? axis.values : (conditional ? 2 : 1);
    axis_of_.insert(axis_of_.end(), columns, blocks_.size() - 1);
  }
}

FeatureMap FeatureMap::Focused(const Coordinates& centre, double zoom) const {
  FeatureMap focused = *this;
  focused.zoom_ = zoom;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    if (!std::isnan(centre[i])) focused.blocks_[i].middle = centre[i];
  }
  return focused;
}

void FeatureMap::Write(const Coordinates& at, std::span<double> features) const {
  std::ranges::fill(features, 0.0);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (std::isnan(at[i])) continue;
    if (block.kind == AxisKind::kCategorical) {
      features[block.begin + std::min(static_cast<std::size_t>(at[i]), block.values - 1)] = kCategory;
    } else {
      features[block.begin] = zoom_ * (at[i] - block.middle);
      if (block.can_be_inactive) features[block.begin + 1] = kInactiveOffset;
    }
  }
}

namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLossOfPairs = 3;  // what speaks against them before there are results

/// A normal distribution of the logarithm, and how far the fit may go.
struct Prior {
  double mean;
  double variance;
  double low;
  double high;
};

Prior LengthPrior(std::size_t axes) {
  return {std::numbers::sqrt2 + 0.5 * std::log(static_cast<double>(axes)) - 1, 3, std::log(0.01), std::log(30)};
}
const Prior kVariancePrior = {0, 1, std::log(0.05), std::log(50)};
const Prior kTrendPrior = {std::log(0.01), 4, std::log(1e-6), std::log(10)};
const Prior kNoisePrior = {std::log(1e-5), 4, std::log(1e-8), 0};

/// In the order of a kernel's logarithms.
std::vector<Prior> Priors(std::size_t axes) {
  std::vector<Prior> priors(axes, LengthPrior(axes));
  priors.insert(priors.end(), {kVariancePrior, kTrendPrior, kNoisePrior});
  return priors;
}

std::vector<double> Logs(const Kernel& kernel) {
  std::vector<double> logs;
  for (const double length : kernel.lengths) logs.push_back(std::log(length));
  for (const double other : {kernel.variance, kernel.trend, kernel.noise}) logs.push_back(std::log(other));
  return logs;
}

Kernel FromLogs(std::span<const double> logs, const Shape& shape) {
  Kernel kernel;
  kernel.shape = shape;
  const std::size_t axes = logs.size() - 3;
  for (std::size_t i = 0; i < axes; ++i) kernel.lengths.push_back(std::exp(logs[i]));
  kernel.variance = std::exp(logs[axes]);
  kernel.trend = std::exp(logs[axes + 1]);
  kernel.noise = std::exp(logs[axes + 2]);
  return kernel;
}

}  // namespace

Kernel DefaultKernel(std::size_t axes, double noise) { return {std::vector<double>(axes, 0.5), 1, 0.01, noise}; }

double Jitter(const Kernel& kernel) { return 1e-10 * (kernel.variance + 4 * kernel.trend); }

void TrainingSet::Add(const FeatureMap& map, const Coordinates& at, double value) {
  features = map.size();
  places.resize(places.size() + features);
  map.Write(at, {places.end() - static_cast<std::ptrdiff_t>(features), places.end()});
  values.push_back(value);
}

/// All that does not change with the kernel: of each pair a > b, in the order of a column-major lower triangle.
struct KernelLoss::Pairs {
  Index size;
  VectorXd values;
  ArrayXXd distances;  // squared, a column for each axis
  ArrayXd trend;
  ArrayXd own_trend;  // of each place with itself

  /// `weights`: 5 / length^2 of each axis.
  Correlation CorrelationBy(const ArrayXd& weights, const Shape& shape) const {
    if (shape.interactions == Interactions::kAll) {
      return CorrelationAt((distances.matrix() * weights.matrix()).array(), shape);
    }
    return CorrelationAt(distances.rowwise() * weights.transpose(), shape);
  }
  /// Of each axis' distances with the column that is its own, or with the one that all share.
  VectorXd DotAxes(const ArrayXXd& columns) const {
    if (columns.cols() == 1) return distances.matrix().transpose() * columns.matrix();
    return (distances * columns).colwise().sum().transpose().matrix();
  }
};

namespace {

/// Scatters pairs and a diagonal into the lower triangle.
MatrixXd Lower(const ArrayXd& pairs, const ArrayXd& diagonal) {
  const Index size = diagonal.size();
  MatrixXd matrix(size, size);
  for (Index column = 0, at = 0; column < size; ++column) {
    const Index below = size - column - 1;
    matrix(column, column) = diagonal(column);
    matrix.col(column).tail(below) = pairs.segment(at, below);
    at += below;
  }
  return matrix;
}

ArrayXd BelowDiagonal(const MatrixXd& matrix) {
  const Index size = matrix.rows();
  ArrayXd pairs(size * (size - 1) / 2);
  for (Index column = 0, at = 0; column < size; ++column) {
    const Index below = size - column - 1;
    pairs.segment(at, below) = matrix.col(column).tail(below);
    at += below;
  }
  return pairs;
}

double AddPriors(std::span<const double> logs, std::span<double> gradient) {
  const auto priors = Priors(logs.size() - 3);
  double loss = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double away = logs[i] - priors[i].mean;
    loss += 0.5 * away * away / priors[i].variance;
    gradient[i] += away / priors[i].variance;
  }
  return loss;
}

}  // namespace

KernelLoss::KernelLoss(const FeatureMap& map, const TrainingSet& data) {
  const auto size = static_cast<Index>(data.size());
  const auto features = static_cast<Index>(data.features);
  const Eigen::Map<const MatrixXd> places(data.places.data(), features, size);
  Pairs pairs{size,
              VectorXd::Map(data.values.data(), size),
              ArrayXXd::Zero(size * (size - 1) / 2, static_cast<Index>(map.axes())),
              {},
              {}};
  for (Index column = 0, at = 0; column < size; ++column) {
    const Index below = size - column - 1;
    for (Index f = 0; f < features; ++f) {
      const auto axis = static_cast<Index>(map.axis_of()[static_cast<std::size_t>(f)]);
      pairs.distances.col(axis).segment(at, below) +=
          (places.row(f).tail(below).array() - places(f, column)).square().transpose();
    }
    at += below;
  }
  const double scale = 4 / static_cast<double>(map.axes());
  const MatrixXd squares = places.cwiseAbs2();
  const ArrayXXd products = (scale * places.transpose() * places).array();
  const ArrayXXd curvatures = (4 * scale * squares.transpose() * squares).array();
  const MatrixXd trend = (1 + products + curvatures + products.square()).matrix();
  pairs.trend = BelowDiagonal(trend);
  pairs.own_trend = trend.diagonal().array();
  pairs_ = std::make_unique<const Pairs>(std::move(pairs));
}

KernelLoss::~KernelLoss() = default;

double KernelLoss::operator()(std::span<const double> logs, std::span<double> gradient, const Shape& shape) const {
  const Kernel kernel = FromLogs(logs, shape);
  const auto axes = static_cast<Index>(kernel.lengths.size());
  const Index size = pairs_->size;
  const ArrayXd weights = 5 * ArrayXd::Map(kernel.lengths.data(), axes).square().inverse();
  const auto correlation = pairs_->CorrelationBy(weights, shape);
  const ArrayXd near = kernel.variance * correlation.value;
  const double own = kernel.variance + kernel.noise + Jitter(kernel);
  const Eigen::LLT<MatrixXd> factor(Lower(near + kernel.trend * pairs_->trend, own + kernel.trend * pairs_->own_trend));
  std::ranges::fill(gradient, 0.0);
  if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  const VectorXd alpha = factor.solve(pairs_->values);
  double loss = 0.5 * pairs_->values.dot(alpha) + factor.matrixLLT().diagonal().array().log().sum();

  // d loss / d K, of which both triangles count.
  MatrixXd inverse = MatrixXd::Identity(size, size);
  factor.matrixL().solveInPlace(inverse);
  MatrixXd slope = MatrixXd::Zero(size, size);
  slope.selfadjointView<Eigen::Lower>().rankUpdate(inverse.transpose());
  slope.selfadjointView<Eigen::Lower>().rankUpdate(alpha, -1);
  const ArrayXd by_pair = BelowDiagonal(slope);
  const ArrayXd by_own = 0.5 * slope.diagonal().array();
  const ArrayXXd by_square = correlation.slopes.colwise() * (kernel.variance * by_pair);
  const VectorXd by_weight = pairs_->DotAxes(by_square);
  for (Index i = 0; i < axes; ++i) gradient[static_cast<std::size_t>(i)] = by_weight(i) * weights(i);
  const auto at = static_cast<std::size_t>(axes);
  gradient[at] = (by_pair * near).sum() + kernel.variance * by_own.sum();
  gradient[at + 1] = kernel.trend * ((by_pair * pairs_->trend).sum() + (by_own * pairs_->own_trend).sum());
  gradient[at + 2] = kernel.noise * by_own.sum();
  return loss + AddPriors(logs, gradient);
}

FittedKernel FitKernel(const FeatureMap& map, const TrainingSet& data, const std::vector<Kernel>& starts,
                       int max_iterations) {
  Bounds bounds;
  for (const auto& prior : Priors(map.axes())) {
    bounds.low.push_back(prior.low);
    bounds.high.push_back(prior.high);
  }
  const KernelLoss loss(map, data);
  FittedKernel best{starts.front(), std::numeric_limits<double>::infinity()};
  for (const auto& start : starts) {
    const auto of = [&](std::span<const double> logs, std::span<double> gradient) {
      return loss(logs, gradient, start.shape);
    };
    const auto found = FindMinimum(of, Logs(start), bounds, max_iterations);
    const double value = found.value + (start.shape.interactions == Interactions::kPairs ? kLossOfPairs : 0);
    if (value < best.loss) best = {FromLogs(found.at, start.shape), value};
  }
  return best;
}

}  // namespace slipway::ensemble
