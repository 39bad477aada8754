/// The correlation of a function's values at two places, from their distances.
#pragma once

#include <Eigen/Core>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

/// The correlation of pairs of places, and minus twice its derivative by each squared distance. One row for each pair.
struct Correlation {
  Eigen::ArrayXd value;
  Eigen::ArrayXXd slopes;
};

/// `squares`: 5 times the squared distance in units of the lengths.
/// Shape:  for Interactions::kAll one column, the sum over all axes; for kPairs a column for each axis, at least two.
/// Cost:   for kPairs an exponential for each distance, and one more for each pair of places.
Correlation CorrelationAt(const Eigen::Ref<const Eigen::ArrayXXd>& squares, const Shape& shape);
/// The value of CorrelationAt alone.
Eigen::ArrayXd CorrelationValueAt(const Eigen::Ref<const Eigen::ArrayXXd>& squares, const Shape& shape);

}  // namespace slipway::ensemble
