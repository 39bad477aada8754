#include "ensemble/samplers/grid_sampler.h"

namespace slipway::ensemble {

GridSampler::GridSampler(SearchSpace space, int points_per_range)
    : space_(std::move(space)), points_per_range_(points_per_range) {
  Rewind();
}

void GridSampler::Rewind() {
  walk_.emplace(space_, points_per_range_);
  next_ = 0;
}

std::optional<Point> GridSampler::Ask(TrialNumber trial, const TrialTable&) {
  if (trial < next_) Rewind();
  for (; next_ <= trial; ++next_) {
    if (!walk_->Next()) return std::nullopt;
  }
  return walk_->point();
}

}  // namespace slipway::ensemble
