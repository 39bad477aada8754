/// Every point of a finite grid exactly once.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/grid_walk.h"

namespace slipway::ensemble {

/// After the first trials, which have their own points, the trials get the other points of the walk in its order.
class GridSampler : public Sampler {
 public:
  GridSampler(SearchSpace space, int points_per_range, const std::vector<Point>& first_points = {});
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  void Rewind();
  bool Step();

  SearchSpace space_;
  int points_per_range_;
  std::set<std::string> passed_over_;  // configurations of the first trials
  TrialNumber first_;
  std::optional<GridWalk> walk_;
  TrialNumber next_ = 0;  // the trial that the following step of the walk belongs to
};

}  // namespace slipway::ensemble
