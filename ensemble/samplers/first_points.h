/// Points that the user wants to have tried, before a sampler chooses.
#pragma once

#include <utility>

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {

/// A point with what it leaves out drawn at random (seed, trial), so that all it holds is active and no constraint is
/// broken.
/// Errors: Error(kUsage) as CheckedPoint, and when no such values are found.
Point CompletedPoint(const SearchSpace& space, const Point& given, std::uint64_t seed, TrialNumber trial);

/// CompletedPoint for the trials 0, 1, ...
/// Errors: as there, counting the points from 1.
std::vector<Point> CompletedPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed);

/// Those that lead to a trial of their own, as they were written: of points that are completed alike, the first.
/// Errors: as there.
std::vector<Point> DistinctPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed);

/// The first of the points that no earlier trial has, whoever chose that one; then `next` is asked.
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
