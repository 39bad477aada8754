/// The minimum of a smooth function in a box by L-BFGS-B, without exceptions.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace slipway::ensemble {

struct Bounds {
  std::vector<double> low;
  std::vector<double> high;
};

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

/// Returns the value and writes the gradient, which has the size of `at`.
using SmoothFunction = std::function<double(std::span<const double> at, std::span<double> gradient)>;

/// The best place found from `start` (clamped into the bounds), in at most `max_iterations` steps. A failed line search
/// or a value that is not finite ends the search early.
/// Cost:   about 1.3 calls of `function` for each step.
/// Source: Byrd, Lu, Nocedal, Zhu 1995, in the implementation of LBFGS++.
Minimum FindMinimum(const SmoothFunction& function, std::vector<double> start, const Bounds& bounds,
                    int max_iterations);

}  // namespace slipway::ensemble
