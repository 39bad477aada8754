#include "ensemble/samplers/grid_sampler.h"

namespace slipway::ensemble {

GridSampler::GridSampler(SearchSpace space, int points_per_range, const std::vector<Point>& first_points)
    : space_(std::move(space)),
      points_per_range_(points_per_range),
      first_(static_cast<TrialNumber>(first_points.size())) {
  for (const auto& point : first_points) passed_over_.insert(ConfigurationHash(point));
  Rewind();
}

void GridSampler::Rewind() {
  walk_.emplace(space_, points_per_range_);
  next_ = first_;
}

bool GridSampler::Step() {
  while (walk_->Next()) {
    if (passed_over_.empty() || !passed_over_.contains(ConfigurationHash(walk_->point()))) return true;
  }
  return false;
}

std::optional<Point> GridSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  const TrialNumber own = earlier.CountSampled(trial);
  if (own < next_) Rewind();
  for (; next_ <= own; ++next_) {
    if (!Step()) return std::nullopt;
  }
  return walk_->point();
}

}  // namespace slipway::ensemble
