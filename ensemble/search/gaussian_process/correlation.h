/// How alike a function's values are at two places, by their distances.
#pragma once

#include <Eigen/Core>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

/// The part of the variance that two places share, and minus twice its slope by each of the distances. A row for each
/// pair of places.
struct Correlation {
  Eigen::ArrayXd value;
  Eigen::ArrayXXd slopes;
};

/// `squares`: 5 times the squared distance in units of the lengths. Shape: of Interactions::kAll one column, the sum
/// over all axes; of kPairs a column for each axis, at least two.
/// Cost: of kPairs as many exponentials as there are distances, and one more for each pair of places.
Correlation CorrelationAt(const Eigen::Ref<const Eigen::ArrayXXd>& squares, const Shape& shape);
/// Its value alone.
Eigen::ArrayXd CorrelationValueAt(const Eigen::Ref<const Eigen::ArrayXXd>& squares, const Shape& shape);

}  // namespace slipway::ensemble
