#include "ensemble/samplers/first_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kDraws = 2000;

bool HoldsAll(const Point& point, const Point& given) {
  return std::ranges::all_of(given, [&](const auto& member) { return Find(point, member.first) != nullptr; });
}

}  // namespace

Point CompletedPoint(const SearchSpace& space, const Point& written, std::uint64_t seed, TrialNumber trial) {
  const Point given = CheckedPoint(space, written);
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    Point point = RandomPoint(space, seed, trial, draw, given);
    if (HoldsAll(point, given) && space.Allows(point)) return point;
  }
  throw Error(ErrorKind::kUsage,
              "no values were found for what it leaves out: conditions or constraints are in the way",
              "give more of its values");
}

std::vector<Point> CompletedPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed) {
  std::vector<Point> complete;
  for (const auto& point : points) {
    const auto trial = static_cast<TrialNumber>(complete.size());
    try {
      complete.push_back(CompletedPoint(space, point, seed, trial));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("point {}: {}", trial + 1, error.message()), error.next_step());
    }
  }
  return complete;
}

std::vector<Point> DistinctPoints(const SearchSpace& space, const std::vector<Point>& points, std::uint64_t seed) {
  const auto complete = CompletedPoints(space, points, seed);
  std::vector<Point> distinct;
  std::set<std::string> known;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (known.insert(ConfigurationHash(complete[i])).second) distinct.push_back(points[i]);
  }
  return distinct;
}

FirstPoints::FirstPoints(std::vector<Point> complete, std::unique_ptr<Sampler> next) : next_(std::move(next)) {
  for (auto& point : complete) {
    auto hash = ConfigurationHash(point);
    points_.emplace_back(std::move(hash), std::move(point));
  }
}

std::optional<Point> FirstPoints::Ask(TrialNumber trial, const TrialTable& earlier) {
  if (trial < asked_) at_point_ = 0;
  asked_ = trial;
  while (at_point_ < points_.size() && earlier.ContainsConfiguration(points_[at_point_].first)) ++at_point_;
  next_asked_ = at_point_ == points_.size();
  return next_asked_ ? next_->Ask(trial, earlier) : points_[at_point_].second;
}

}  // namespace slipway::ensemble
