/// Every point of a finite grid exactly once.
#pragma once

#include <optional>

#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/grid_walk.h"

namespace slipway::ensemble {

/// The next point of the walk that no earlier trial has, whoever chose that one. Nothing: earlier trials have them all.
class GridSampler : public Sampler {
 public:
  GridSampler(SearchSpace space, int points_per_range);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  void Rewind();

  SearchSpace space_;
  int points_per_range_;
  std::optional<GridWalk> walk_;
  bool at_point_ = false;  // the walk has not ended
  TrialNumber asked_ = 0;  // the trials before it have all that the walk has left behind
};

}  // namespace slipway::ensemble
