/// Random places of a mixed and conditional space, and their neighbours.
#pragma once

#include <algorithm>
#include <vector>

#include "ensemble/search/cube/activity.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// Where a search looks: continuous and ordered axes lie in [low, high]. With a centre, categorical axes mostly keep
/// its value.
struct SearchBox {
  std::vector<double> low;
  std::vector<double> high;
  Coordinates centre;  ///< empty: none

  /// All of the space.
  static SearchBox Whole(std::size_t axes) {
    return {std::vector<double>(axes, 0.0), std::vector<double>(axes, 1.0), {}};
  }
};

class Candidates {
 public:
  explicit Candidates(const Encoding& encoding) : encoding_(encoding), axes_(encoding.axes()), activity_(encoding) {}

  /// Somewhere in the box; with a centre, every second place shares most of its coordinates with it.
  Coordinates Anywhere(const SearchBox& box, Draws& draws) const;
  /// Near `from`, at a distance that is anything from 0.001 to 0.2 of an axis; some axes keep their values.
  Coordinates Near(const Coordinates& from, const SearchBox& box, Draws& draws) const;
  /// Every place that differs from `from` in one ordered axis by a step or in one categorical axis (up to 16 values).
  std::vector<Coordinates> Neighbours(const Coordinates& from, const SearchBox& box, Draws& draws) const;

  /// Whether a search by gradient moves along this axis; ordered ones with many values count as continuous.
  bool IsSmooth(std::size_t axis) const;
  /// There are axes along which no gradient leads.
  bool HasSteps() const;
  /// Rounds what is not continuous and sets inactive axes to NaN, active ones that are NaN to a random value.
  void Settle(Coordinates& at, const SearchBox& box, Draws& draws) const;

 private:
  /// How many of the axes are moved when not all are.
  double MovedShare() const { return std::max(0.3, 1.5 / static_cast<double>(axes_.size())); }
  double Draw(std::size_t axis, const SearchBox& box, Draws& draws) const;
  double Nudged(std::size_t axis, double from, double reach, const SearchBox& box, Draws& draws) const;
  double OnAxis(std::size_t axis, double at) const;

  const Encoding& encoding_;
  const std::vector<Axis>& axes_;
  Activity activity_;
};

}  // namespace slipway::ensemble
