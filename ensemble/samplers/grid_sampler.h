/// Every point of a finite grid exactly once.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {

/// Walks over the grid like an odometer, the last parameter turning fastest; inactive parameters have no wheel.
/// `choice` and `int` give all their values; of `uniform` and `log` it takes `points_per_range` evenly spaced values,
/// both ends among them.
class GridWalk {
 public:
  /// `space` must outlive the walk.
  GridWalk(const SearchSpace& space, int points_per_range);
  /// To the first point, then to each following one; false after the last.
  bool Next();
  const Point& point() const { return point_; }

 private:
  struct Wheel {
    std::size_t parameter;
    std::uint64_t index;
  };
  void AddWheels(std::size_t from);

  const SearchSpace& space_;
  int points_per_range_;
  bool started_ = false;
  std::vector<Wheel> wheels_;  // one for each member of point_
  Point point_;
};

/// The number of points, counted up to `limit` only.
std::int64_t CountGrid(const SearchSpace& space, int points_per_range, std::int64_t limit);

/// Trial n gets the n-th point of the walk.
class GridSampler : public Sampler {
 public:
  GridSampler(SearchSpace space, int points_per_range);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  void Rewind();

  SearchSpace space_;
  int points_per_range_;
  std::optional<GridWalk> walk_;
  TrialNumber next_ = 0;  // the trial that the following step of the walk belongs to
};

}  // namespace slipway::ensemble
