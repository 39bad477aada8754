#include "ensemble/samplers/grid_sampler.h"

namespace slipway::ensemble {

GridSampler::GridSampler(SearchSpace space, int points_per_range)
    : space_(std::move(space)), points_per_range_(points_per_range) {
  Rewind();
}

void GridSampler::Rewind() {
  walk_.emplace(space_, points_per_range_);
  at_point_ = walk_->Next();
}

std::optional<Point> GridSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  if (trial < asked_) Rewind();
  asked_ = trial;
  while (at_point_ && earlier.ContainsConfiguration(ConfigurationHash(walk_->point()))) at_point_ = walk_->Next();
  return at_point_ ? std::optional(walk_->point()) : std::nullopt;
}

}  // namespace slipway::ensemble
