/// Every point of a finite grid exactly once.
#pragma once

#include <optional>

#include "ensemble/samplers/sampler.h"
#include "ensemble/search/grid_walk.h"

namespace slipway::ensemble {

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
