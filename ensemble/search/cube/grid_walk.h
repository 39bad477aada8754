/// Walks over the points of a grid in a search space.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Walks over the grid like an odometer: the last parameter changes fastest. Inactive parameters have no wheel. Points
/// that break a constraint are skipped. Discrete domains give all their values; ranges give `points_per_range` evenly
/// spaced values, both ends included.
class GridWalk {
 public:
  /// `space` must outlive the walk. `most_steps`: gives up after this many turns of a wheel; constraints may leave few
  /// points among very many.
  GridWalk(const SearchSpace& space, int points_per_range,
           std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max());
  /// Goes to the first point, then to each following one. False after the last, and when it has given up.
  bool Next();
  bool has_given_up() const { return steps_left_ == 0; }
  const Point& point() const { return point_; }

 private:
  struct Wheel {
    std::size_t parameter;
    std::uint64_t index;
  };
  /// False when a constraint is broken, whatever values the further parameters get.
  bool AddWheels(std::size_t from);

  const SearchSpace& space_;
  int points_per_range_;
  std::uint64_t steps_left_;
  bool started_ = false;
  std::vector<Wheel> wheels_;  // one for each member of point_
  Point point_;
};

/// The number of points, counted up to `limit`. Also `limit` if a million steps are not enough to count them.
std::int64_t CountGrid(const SearchSpace& space, int points_per_range, std::int64_t limit);

/// Whether no parameter is continuous: the grid then holds every point of the space.
bool IsDiscrete(const SearchSpace& space);

}  // namespace slipway::ensemble
