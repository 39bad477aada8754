/// Points of the user for the first trials, before a sampler chooses.
#pragma once

#include <utility>

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {

/// Completes a point: draws the parameters that it leaves out at random, by (seed, trial). All given parameters are
/// active in the result, and no constraint is broken.
/// Errors: Error(kUsage) as CheckedPoint, and when no such values are found.
Point CompletedPoint(const SearchSpace& space, const Point& given, std::uint64_t seed, TrialNumber trial);

/// CompletedPoint of each point, for the trials 0, 1, ...
/// Errors: as CompletedPoint; they count the points from 1.
std::vector<Point> CompletedPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed);

/// The points that lead to different trials, as they were written. Of points with the same completion, the first stays.
/// Errors: as CompletedPoints.
std::vector<Point> DistinctPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed);

/// Proposes the first point that no earlier trial has, whatever the origin of that trial. After the last one, asks
/// `next`.
class FirstPoints : public Sampler {
 public:
  FirstPoints(std::vector<Point> complete, std::unique_ptr<Sampler> next);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;
  std::string_view Origin() const override { return next_asked_ ? next_->Origin() : std::string_view(); }

 private:
  std::vector<std::pair<std::string, Point>> points_;  // with their hashes
  std::size_t at_point_ = 0;                           // the first that may be free
  TrialNumber asked_ = 0;
  std::unique_ptr<Sampler> next_;
  bool next_asked_ = false;
};

}  // namespace slipway::ensemble
