#include "ensemble/search/evolution/covariance_adaptation.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ensemble/search/numbers/normal.h"

namespace slipway::ensemble {
namespace {

using Eigen::Index;
using Matrix = Eigen::Map<Eigen::MatrixXd>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;
using MappedVector = Eigen::Map<Eigen::VectorXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

Matrix AsMatrix(std::vector<double>& values, std::size_t d) {
  return {values.data(), static_cast<Index>(d), static_cast<Index>(d)};
}
ConstMatrix AsMatrix(const std::vector<double>& values, std::size_t d) {
  return {values.data(), static_cast<Index>(d), static_cast<Index>(d)};
}
MappedVector AsVector(std::vector<double>& values) { return {values.data(), static_cast<Index>(values.size())}; }
ConstVector AsVector(const std::vector<double>& values) { return {values.data(), static_cast<Index>(values.size())}; }

std::vector<double> Identity(std::size_t d) {
  std::vector<double> values(d * d);
  AsMatrix(values, d).setIdentity();
  return values;
}

/// The expected length of a vector of d standard normal numbers.
double ExpectedLength(double d) { return std::sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d)); }

double Effective(std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double squares = std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
  return squares > 0 ? sum * sum / squares : 0;
}

void ScaleTo(double total, std::span<double> weights) {
  const double sum = std::abs(std::accumulate(weights.begin(), weights.end(), 0.0));
  if (sum <= 0) return;
  for (double& weight : weights) weight *= total / sum;
}

}  // namespace

// Names of the tutorial: table 1, equations 49 to 58.
CovarianceAdaptationRates::CovarianceAdaptationRates(std::size_t axes, std::size_t population)
    : weights(population), parents(population / 2) {
  const double d = static_cast<double>(axes);
  for (std::size_t i = 0; i < population; ++i) {
    weights[i] = std::log((static_cast<double>(population) + 1) / 2) - std::log(static_cast<double>(i) + 1);
  }
  const auto positive = std::span(weights).first(parents);
  const auto negative = std::span(weights).subspan(parents);
  effective = Effective(positive);
  step_path = (effective + 2) / (d + effective + 5);
  damping = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (d + 1)) - 1) + step_path;
  shape_path = (4 + effective / d) / (d + 4 + 2 * effective / d);
  rank_one = 2 / ((d + 1.3) * (d + 1.3) + effective);
  rank_many = std::min(1 - rank_one, 2 * (0.25 + effective + 1 / effective - 2) / ((d + 2) * (d + 2) + effective));
  const double most = std::min({1 + rank_one / rank_many, 1 + 2 * Effective(negative) / (effective + 2),
                                (1 - rank_one - rank_many) / (d * rank_many)});
  ScaleTo(1, positive);
  ScaleTo(most, negative);
}

CovarianceAdaptation::CovarianceAdaptation(std::vector<double> mean, double sigma, std::size_t population)
    : rates_(mean.size(), population),
      mean_(std::move(mean)),
      sigma_(sigma),
      scale_(axes(), 1.0),
      step_path_(axes(), 0.0),
      shape_path_(axes(), 0.0),
      covariance_(Identity(axes())),
      basis_(Identity(axes())),
      length_(axes(), 1.0) {}

std::vector<double> CovarianceAdaptation::Draw(Draws& draws) const {
  std::vector<double> normal(axes());
  for (std::size_t i = 0; i < axes(); ++i) normal[i] = length_[i] * draws.Normal();
  std::vector<double> point(axes());
  AsVector(point) = AsMatrix(basis_, axes()) * AsVector(normal);
  for (std::size_t i = 0; i < axes(); ++i) point[i] = mean_[i] + sigma_ * scale_[i] * point[i];
  return point;
}

double CovarianceAdaptation::Deviation(std::size_t i) const {
  return sigma_ * scale_[i] * std::sqrt(covariance_[i * axes() + i]);
}

/// C^(-1/2) `step`.
std::vector<double> CovarianceAdaptation::Whitened(const std::vector<double>& step) const {
  const auto basis = AsMatrix(basis_, axes());
  std::vector<double> white(axes());
  AsVector(white) = basis * (basis.transpose() * AsVector(step)).cwiseQuotient(AsVector(length_));
  return white;
}

/// The step from the mean to `point` in units of sigma, shortened to the length that can be expected.
std::vector<double> CovarianceAdaptation::Step(const std::vector<double>& point) const {
  std::vector<double> step(axes());
  for (std::size_t i = 0; i < axes(); ++i) step[i] = (point[i] - mean_[i]) / (sigma_ * scale_[i]);
  const double d = static_cast<double>(axes());
  const double longest = std::sqrt(d) + 2 * d / (d + 2);
  const double length = AsVector(Whitened(step)).norm();
  if (length > longest) AsVector(step) *= longest / length;
  return step;
}

void CovarianceAdaptation::Update(std::span<const std::vector<double>> ranked) {
  std::vector<std::vector<double>> steps;
  for (const auto& point : ranked) steps.push_back(Step(point));
  std::vector<double> shift(axes(), 0.0);
  for (std::size_t k = 0; k < rates_.parents; ++k) AsVector(shift) += rates_.weights[k] * AsVector(steps[k]);
  AsVector(mean_) += sigma_ * AsVector(shift);
  ++generation_;
  MovePaths(shift);
  Reshape(steps);
  const double growth = AsVector(step_path_).norm() / ExpectedLength(static_cast<double>(axes())) - 1;
  sigma_ *= std::exp(std::min(1.0, rates_.step_path / rates_.damping * growth));
  const double late = 1 / ((rates_.rank_one + rates_.rank_many) * static_cast<double>(axes()) * 10);
  if (static_cast<double>(generation_ - decomposed_) > late) Decompose();
}

void CovarianceAdaptation::MovePaths(const std::vector<double>& shift) {
  const double d = static_cast<double>(axes());
  const double step = rates_.step_path;
  AsVector(step_path_) *= 1 - step;
  AsVector(step_path_) += std::sqrt(step * (2 - step) * rates_.effective) * AsVector(Whitened(shift));
  const double settled = std::sqrt(1 - std::pow(1 - step, 2.0 * static_cast<double>(generation_)));
  long_path_ = AsVector(step_path_).norm() / settled >= (1.4 + 2 / (d + 1)) * ExpectedLength(d);
  const double shape = rates_.shape_path;
  AsVector(shape_path_) *= 1 - shape;
  if (!long_path_) AsVector(shape_path_) += std::sqrt(shape * (2 - shape) * rates_.effective) * AsVector(shift);
}

void CovarianceAdaptation::Reshape(const std::vector<std::vector<double>>& steps) {
  auto covariance = AsMatrix(covariance_, axes());
  const double shape = rates_.shape_path;
  const double lost = long_path_ ? shape * (2 - shape) : 0;
  const double sum = std::accumulate(rates_.weights.begin(), rates_.weights.end(), 0.0);
  covariance *= 1 + rates_.rank_one * (lost - 1) - rates_.rank_many * sum;
  covariance += rates_.rank_one * AsVector(shape_path_) * AsVector(shape_path_).transpose();
  for (std::size_t k = 0; k < steps.size(); ++k) {
    double weight = rates_.weights[k];
    // A bad point far away must not make the covariance negative there.
    const double distance = AsVector(Whitened(steps[k])).squaredNorm();
    if (weight < 0) weight *= static_cast<double>(axes()) / std::max(distance, 1e-300);
    covariance += rates_.rank_many * weight * AsVector(steps[k]) * AsVector(steps[k]).transpose();
  }
}

void CovarianceAdaptation::Decompose() {
  auto covariance = AsMatrix(covariance_, axes());
  covariance = (0.5 * (covariance + covariance.transpose())).eval();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  const double largest = std::max(solver.eigenvalues().maxCoeff(), 1e-300);
  const Eigen::VectorXd values = solver.eigenvalues().cwiseMax(1e-16 * largest);
  AsMatrix(basis_, axes()) = solver.eigenvectors();
  AsVector(length_) = values.cwiseSqrt();
  covariance = solver.eigenvectors() * values.asDiagonal() * solver.eigenvectors().transpose();
  decomposed_ = generation_;
}

bool CovarianceAdaptation::is_spent() const {
  const auto [shortest, longest] = std::ranges::minmax(length_);
  double widest = 0;
  for (std::size_t i = 0; i < axes(); ++i) widest = std::max(widest, Deviation(i));
  return !(longest < 1e7 * shortest) || !(widest > 1e-11) || !(widest < 1e4);
}

// Equations 10 to 16 of "CMA-ES with margin".
void CovarianceAdaptation::KeepMargin(std::size_t i, const Part& part, double margin) {
  const double deviation = Deviation(i);
  if (part.is_first || part.is_last) {
    const double border = part.is_first ? part.high : part.low;
    const double farthest = -NormalQuantile(margin) * deviation;
    mean_[i] = border + std::clamp(mean_[i] - border, -farthest, farthest);
    return;
  }
  const double below = NormalCdf((part.low - mean_[i]) / deviation);
  const double above = NormalCdf((mean_[i] - part.high) / deviation);
  if (std::min(below, above) >= margin / 2) return;
  const double inside = 1 - below - above;
  const double lifted_below = std::max(below, margin / 2);
  const double lifted_above = std::max(above, margin / 2);
  const double all = lifted_below + lifted_above + inside;
  const double correction = (1 - all) / (all - 1.5 * margin);
  const double reach_low = -NormalQuantile(lifted_below + correction * (lifted_below - margin / 2));
  const double reach_high = -NormalQuantile(lifted_above + correction * (lifted_above - margin / 2));
  mean_[i] = (part.low * reach_high + part.high * reach_low) / (reach_low + reach_high);
  scale_[i] *= (part.high - part.low) / (reach_low + reach_high) / deviation;
}

}  // namespace slipway::ensemble
