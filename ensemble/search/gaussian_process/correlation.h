/// How alike a function's values are at two places, by their distance.
#pragma once

#include <Eigen/Core>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

/// For 5 times the squared distance in units of the lengths: the part of the variance that two places share, and minus
/// twice its slope.
struct Correlation {
  Eigen::ArrayXd value;
  Eigen::ArrayXd slope;
};

inline Correlation CorrelationAt(const Eigen::Ref<const Eigen::ArrayXd>& squares, Smoothness smoothness) {
  if (smoothness == Smoothness::kAnalytic) {
    const Eigen::ArrayXd value = (-0.1 * squares).exp();
    return {value, 0.2 * value};
  }
  const Eigen::ArrayXd r = squares.sqrt();
  const Eigen::ArrayXd decay = (-r).exp();
  return {(1 + r + squares / 3) * decay, (1 + r) * decay / 3};
}

}  // namespace slipway::ensemble
