#include "ensemble/search/quadratic/quadratic_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace slipway::ensemble {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Regularisation, at unit scale: it keeps equal points from making the equations singular. A larger one would smooth
/// away differences between close points.
constexpr double kRidge = 1e-14;

struct ScaledPoints {
  MatrixXd offsets;  // a column for each point, from the anchor, the longest of length 1
  VectorXd values;   // of mean 0 and range 1
  double length = 1;
  double range = 1;
};

ScaledPoints Scale(const std::vector<std::vector<double>>& points, const std::vector<double>& values,
                   const std::vector<double>& anchor) {
  ScaledPoints scaled;
  scaled.offsets.resize(static_cast<Index>(anchor.size()), static_cast<Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < anchor.size(); ++j) {
      scaled.offsets(static_cast<Index>(j), static_cast<Index>(i)) = points[i][j] - anchor[j];
    }
  }
  scaled.values = Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
  scaled.length = std::sqrt(scaled.offsets.colwise().squaredNorm().maxCoeff());
  scaled.range = scaled.values.maxCoeff() - scaled.values.minCoeff();
  if (scaled.length > 0) scaled.offsets /= scaled.length;
  scaled.values.array() -= scaled.values.mean();
  if (scaled.range > 0) scaled.values /= scaled.range;
  return scaled;
}

/// Multipliers, constant and gradient of the model with the smallest curvature.
VectorXd SolveConditions(const ScaledPoints& scaled) {
  const Index d = scaled.offsets.rows(), n = scaled.offsets.cols();
  MatrixXd conditions = MatrixXd::Zero(n + d + 1, n + d + 1);
  conditions.topLeftCorner(n, n) = 0.5 * (scaled.offsets.transpose() * scaled.offsets).array().square().matrix();
  conditions.topLeftCorner(n, n).diagonal().array() += kRidge;
  conditions.block(0, n, n, 1).setOnes();
  conditions.block(n, 0, 1, n).setOnes();
  conditions.block(0, n + 1, n, d) = scaled.offsets.transpose();
  conditions.block(n + 1, 0, d, n) = scaled.offsets;
  VectorXd wanted = VectorXd::Zero(n + d + 1);
  wanted.head(n) = scaled.values;
  return conditions.partialPivLu().solve(wanted);
}

/// The smallest of g p + p H p / 2 in a ball.
VectorXd SmallestInBall(const MatrixXd& curvature, const VectorXd& gradient, double radius) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(curvature);
  const VectorXd& along = solver.eigenvalues();  // ascending
  const VectorXd slope = solver.eigenvectors().transpose() * gradient;
  const auto step = [&](double shift) {
    return VectorXd((-slope.array() / (along.array() + shift).max(1e-300)).matrix());
  };
  const double scale = std::max(along.cwiseAbs().maxCoeff(), slope.norm() / radius);
  double low = std::max(0.0, -along[0]) + 1e-12 * scale;
  if (VectorXd inside = step(low); inside.norm() <= radius) {
    // The step ends inside the ball, and the lowest curvature is negative: goes on in its direction to the border.
    const double others = inside.squaredNorm() - inside[0] * inside[0];
    if (along[0] < 0) inside[0] = std::copysign(std::sqrt(std::max(0.0, radius * radius - others)), inside[0]);
    return solver.eigenvectors() * inside;
  }
  double high = low + slope.norm() / radius + scale;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (step(middle).norm() > radius ? low : high) = middle;
  }
  return solver.eigenvectors() * step(high);
}

MatrixXd PartOf(const MatrixXd& of, const std::vector<Index>& rows, const std::vector<Index>& columns) {
  return of(rows, columns);
}

}  // namespace

double QuadraticModel::ChangeAt(const std::vector<double>& p) const {
  const auto d = static_cast<Index>(gradient.size());
  const Eigen::Map<const VectorXd> at(p.data(), d), slope(gradient.data(), d);
  const Eigen::Map<const MatrixXd> bend(curvature.data(), d, d);
  return slope.dot(at) + 0.5 * at.dot(bend * at);
}

std::optional<QuadraticModel> FitQuadratic(const std::vector<std::vector<double>>& points,
                                           const std::vector<double>& values, const std::vector<double>& anchor) {
  const auto scaled = Scale(points, values, anchor);
  if (!(scaled.length > 0) || !(scaled.range > 0) || !std::isfinite(scaled.range)) return std::nullopt;
  const Index d = scaled.offsets.rows(), n = scaled.offsets.cols();
  const VectorXd solution = SolveConditions(scaled);
  const VectorXd gradient = solution.tail(d) * (scaled.range / scaled.length);
  const MatrixXd curvature = scaled.offsets * solution.head(n).asDiagonal() * scaled.offsets.transpose() *
                             (scaled.range / (scaled.length * scaled.length));
  if (!gradient.allFinite() || !curvature.allFinite()) return std::nullopt;
  return QuadraticModel{{gradient.data(), gradient.data() + d}, {curvature.data(), curvature.data() + d * d}};
}

std::vector<double> SmallestWithin(const QuadraticModel& model, double radius, const std::vector<double>& low,
                                   const std::vector<double>& high) {
  const auto d = static_cast<Index>(model.gradient.size());
  const Eigen::Map<const MatrixXd> curvature(model.curvature.data(), d, d);
  VectorXd gradient = Eigen::Map<const VectorXd>(model.gradient.data(), d);
  std::vector<double> at(model.gradient.size(), 0.0);
  std::vector<Index> open(model.gradient.size());
  std::iota(open.begin(), open.end(), 0);
  double left = radius * radius;  // what the axes at their borders leave of the radius, squared
  while (!open.empty() && left > 0) {
    const VectorXd step = SmallestInBall(PartOf(curvature, open, open), gradient(open), std::sqrt(left));
    std::vector<Index> still_open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto axis = static_cast<std::size_t>(open[i]);
      at[axis] = std::clamp(step[static_cast<Index>(i)], low[axis], high[axis]);
      if (at[axis] == step[static_cast<Index>(i)]) {
        still_open.push_back(open[i]);
      } else {
        left -= at[axis] * at[axis];
        gradient += curvature.col(open[i]) * at[axis];
      }
    }
    if (still_open.size() == open.size()) return at;
    open = std::move(still_open);
  }
  // The fixed axes used up the radius: the other axes do not move.
  for (const Index axis : open) at[static_cast<std::size_t>(axis)] = 0;
  return at;
}

}  // namespace slipway::ensemble
