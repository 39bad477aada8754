/// Walks over the points of a grid in a search space.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Walks over the grid like an odometer, the last parameter turning fastest; inactive parameters have no wheel, and
/// points that break a constraint are passed over. Discrete domains give all their values; of ranges it takes
/// `points_per_range` evenly spaced values, both ends among them.
class GridWalk {
 public:
  /// `space` must outlive the walk. `most_steps`: after so many turns of a wheel it gives up; constraints may leave few
  /// points among very many.
  GridWalk(const SearchSpace& space, int points_per_range,
           std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max());
  /// To the first point, then to each following one; false after the last, and when it has given up.
  bool Next();
  bool has_given_up() const { return steps_left_ == 0; }
  const Point& point() const { return point_; }

 private:
  struct Wheel {
    std::size_t parameter;
    std::uint64_t index;
  };
  /// False when a constraint is broken: what it does not know yet cannot mend that.
  bool AddWheels(std::size_t from);

  const SearchSpace& space_;
  int points_per_range_;
  std::uint64_t steps_left_;
  bool started_ = false;
  std::vector<Wheel> wheels_;  // one for each member of point_
  Point point_;
};

/// The number of points, counted up to `limit` only; `limit`, too, where a million steps do not lead so far.
std::int64_t CountGrid(const SearchSpace& space, int points_per_range, std::int64_t limit);

/// No parameter is continuous: the grid holds every point of the space.
bool IsDiscrete(const SearchSpace& space);

}  // namespace slipway::ensemble
