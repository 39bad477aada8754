/// Functions with known minima, on which samplers are compared.
#pragma once

#include <string>
#include <vector>

#include "ensemble/space/space.h"

namespace slipway::bench {

/// Shape: continuous functions of d numbers have the parameters x0 ... x(d-1).
struct TestFunction {
  std::string name;
  std::string space;   ///< JSON of the spec's `ensemble.space`
  double minimum = 0;  ///< of `value`
  double (*value)(const ensemble::Point& point) = nullptr;
  double noise = 0;  ///< standard deviation of what a measurement adds to `value`

  ensemble::SearchSpace Space() const;
  /// How far above the minimum; without noise.
  double Regret(const ensemble::Point& point) const { return value(point) - minimum; }
  /// What a trial would report: pure function of (seed, trial, point).
  double Measured(const ensemble::Point& point, std::uint64_t seed, std::int64_t trial) const;
};

/// The ten functions that the goals are set on.
/// Source: docs/explanation/benchmarks-search.md
const std::vector<TestFunction>& GoalFunctions();

/// Functions of the same kinds that no sampler is tuned on. They have many minima, narrow valleys, minima on the
/// border, noise, integers or categories. One has a space with another kind of dependence between parameters.
const std::vector<TestFunction>& OtherFunctions();

/// Of both lists.
/// Errors: Error(kUsage) for an unknown name, with the nearest valid one.
const TestFunction& FindFunction(const std::string& name);

}  // namespace slipway::bench
