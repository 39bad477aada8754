/// A quadratic function through points, and where it is smallest nearby.
#pragma once

#include <optional>
#include <vector>

namespace slipway::ensemble {

/// change(p) = gradient p + p curvature p / 2: how the value changes on the way from the anchor to anchor + p.
struct QuadraticModel {
  std::vector<double> gradient;   ///< d numbers
  std::vector<double> curvature;  ///< d x d, symmetric

  double ChangeAt(const std::vector<double>& p) const;
};

/// The quadratic that has the given values at the points; where these do not determine it, the one with the smallest
/// curvature (Frobenius norm).
///
/// Shape:  points of d numbers each; at least d + 2 of them. Doubled points get the mean of their values.
/// Cost:   O((n + d)^3).
/// Result: nothing when the points lie so that no finite model comes out.
/// Source: Powell: "The NEWUOA software for unconstrained optimization without derivatives", 2004, equations 3.9-3.12.
std::optional<QuadraticModel> FitQuadratic(const std::vector<std::vector<double>>& points,
                                           const std::vector<double>& values, const std::vector<double>& anchor);

/// Where the model is smallest within `radius` and between `low` and `high` (from the anchor; low <= 0 <= high):
/// exactly in the ball, with axes held at their border one after the other. Source: More, Sorensen: "Computing a trust
/// region step", 1983.
std::vector<double> SmallestWithin(const QuadraticModel& model, double radius, const std::vector<double>& low,
                                   const std::vector<double>& high);

}  // namespace slipway::ensemble
