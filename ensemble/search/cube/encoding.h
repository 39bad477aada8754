/// Points of a search space as places in the unit cube, in which the samplers compute.
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
  std::uint64_t values = 0;  ///< how many there are to choose from; 0 of a continuous axis and of all 2^64 integers
};

/// One number for each axis; NaN where the parameter is not active.
/// Logarithmic ranges are even in the logarithm, so a step of 0.1 is the same factor everywhere.
using Coordinates = std::vector<double>;

/// Numbers in [0, 1) for each axis as coordinates: a categorical axis gets each of its values from equal parts.
Coordinates UnitToAxes(std::vector<double> units, const std::vector<Axis>& axes);

class Encoding {
 public:
  explicit Encoding(SearchSpace space);

  const SearchSpace& space() const { return space_; }
  /// In the order of the parameters: an axis follows those that its condition names.
  const std::vector<Axis>& axes() const { return axes_; }
  const Axis& axis(std::size_t i) const { return axes_.at(i); }

  /// Coordinates of a point of this space; parameters that the space does not know are left out.
  Coordinates Encode(const Point& point) const;

  /// The point that lies nearest: numbers outside of [0, 1] are clamped, ordered and categorical ones rounded. An
  /// active axis that is NaN gets the middle (the first value of a categorical one); an inactive one is left out.
  Point Decode(const Coordinates& at) const;

  /// Decode, then Encode: the place that a trial there really has.
  Coordinates Snap(const Coordinates& at) const { return Encode(Decode(at)); }

 private:
  SearchSpace space_;
  std::vector<Axis> axes_;
};

}  // namespace slipway::ensemble
