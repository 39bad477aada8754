/// Converts points of a search space into coordinates in the unit cube, and back. Samplers compute with coordinates.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/space/space.h"

namespace slipway::ensemble {

enum class AxisKind {
  kContinuous,  ///< any number in [0, 1]
  kOrdered,     ///< one of `values` places in ascending order: (i + 0.5) / values, of `int_log` even in the logarithm
  kCategorical  ///< the index of the value; no order between values
};

/// A parameter that varies.
struct Axis {
  std::size_t parameter = 0;  ///< index into SearchSpace::parameters()
  AxisKind kind = AxisKind::kContinuous;
  std::uint64_t values = 0;  ///< number of values; 0 for a continuous axis and for all 2^64 integers
};

/// One number for each axis; NaN if the parameter is not active.
/// Logarithmic ranges are even in the logarithm, so a step of 0.1 is the same factor everywhere.
using Coordinates = std::vector<double>;

/// Turns a number in [0, 1) for each axis into coordinates. The values of a categorical axis get equal parts.
Coordinates UnitToAxes(std::vector<double> units, const std::vector<Axis>& axes);

class Encoding {
 public:
  explicit Encoding(SearchSpace space);

  const SearchSpace& space() const { return space_; }
  /// In the order of the parameters: an axis comes after those that its condition names.
  const std::vector<Axis>& axes() const { return axes_; }
  const Axis& axis(std::size_t i) const { return axes_.at(i); }

  /// Coordinates of a point of this space. Parameters that are not in the space are left out.
  Coordinates Encode(const Point& point) const;

  /// The nearest point. Numbers outside of [0, 1] are clamped; ordered and categorical ones are rounded. An active axis
  /// with NaN gets its middle, a categorical one its first value. Inactive axes are left out.
  Point Decode(const Coordinates& at) const;

 private:
  SearchSpace space_;
  std::vector<Axis> axes_;
};

}  // namespace slipway::ensemble
