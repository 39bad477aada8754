/// A quadratic model through points, and its minimum in a trust region.
#pragma once

#include <optional>
#include <vector>

namespace slipway::ensemble {

/// change(p) = gradient p + p curvature p / 2: the change of the value from the anchor to anchor + p.
struct QuadraticModel {
  std::vector<double> gradient;   ///< d numbers
  std::vector<double> curvature;  ///< d x d, symmetric

  double ChangeAt(const std::vector<double>& p) const;
};

/// The quadratic model that interpolates the values at the points. If these do not determine it, the one with the
/// smallest curvature (Frobenius norm).
///
/// Shape:  points of d numbers each; at least d + 2 of them. Equal points get the mean of their values.
/// Cost:   O((n + d)^3).
/// Result: nothing when the points give no finite model.
/// Source: Powell: "The NEWUOA software for unconstrained optimization without derivatives", 2004, equations 3.9-3.12.
std::optional<QuadraticModel> FitQuadratic(const std::vector<std::vector<double>>& points,
                                           const std::vector<double>& values, const std::vector<double>& anchor);

/// The step from the anchor to the minimum of the model within `radius` and between `low` and `high`. Both are relative
/// to the anchor; low <= 0 <= high. The minimum is exact in the ball. Axes are fixed at their bounds one after the
/// other.
/// Source: More, Sorensen: "Computing a trust region step", 1983.
std::vector<double> SmallestWithin(const QuadraticModel& model, double radius, const std::vector<double>& low,
                                   const std::vector<double>& high);

}  // namespace slipway::ensemble
