#include "ensemble/search/trust_region.h"

#include <algorithm>
#include <cmath>

#include "ensemble/search/steps.h"

namespace slipway::ensemble {
namespace {

constexpr double kFirstSide = 0.8;
constexpr double kLargestSide = 1.6;
constexpr double kSideElsewhere = 0.4;
constexpr double kSideAgain = 0x1p-5;
constexpr double kSmallest = 0x1p-5;
constexpr double kSmallestAgain = 0x1p-14;  // of the best point's region, when the search comes back to it
constexpr int kSuccessesToGrow = 3;
constexpr double kLeastGain = 1e-7;  // of all that was gained since the design: less is no success
constexpr double kNewBasin = 0.2;    // of an axis: how far away another region begins
constexpr double kSlope = 0.3;       // of an axis: a better point so near lies in the same basin

class Replay {
 public:
  Replay(std::span<const Observation> complete, const std::vector<Axis>& axes, std::size_t open)
      : complete_(complete),
        axes_(axes),
        open_(open),
        failures_to_shrink_(std::max(3, static_cast<int>(axes.size() / 2))) {}

  void SeeDesign(std::size_t i) {
    if (Value(i) < Value(region_.centre)) region_.centre = i;
    best_ = first_ = region_.centre;
  }

  void See(std::size_t i) {
    const bool local = IsLocal(StepOf(complete_[i].trial, axes_.size()));
    if (Value(i) < Value(best_)) {
      if (!local && !IsInside(i)) {
        MoveTo(i, kFirstSide);
        ChangeWith(i);
      }
      best_ = i;
    }
    const double gain = Value(region_.centre) - Value(i);
    if (!IsInside(i)) return;
    if (gain > 0) region_.centre = i;
    if (!local) return;
    if (gain > kLeastGain * (Value(first_) - Value(best_))) {
      Succeed();
      ChangeWith(i);
    } else if (i >= first_to_know_) {
      Fail(i);
    }
  }

  TrustRegion region() const { return region_; }

 private:
  double Value(std::size_t i) const { return complete_[i].value; }
  /// Result `i` changes the region. Trials that were open at that time did not know it.
  void ChangeWith(std::size_t i) { first_to_know_ = i + open_ + 1; }
  /// Whether result `i` belongs to the region; others do not change it, as trials of other methods. Steps may be twice
  /// as long as the side, on axes that hardly matter. In another basin they may not: else they reach the basin left.
  bool IsInside(std::size_t i) const {
    const double reach = region_.elsewhere ? 0.51 * region_.side : std::max(kNewBasin, 2 * region_.side);
    return LargestDifference(complete_[i].at, complete_[region_.centre].at, axes_) <= reach;
  }

  void MoveTo(std::size_t i, double side) {
    region_.centre = i;
    region_.side = side;
    region_.elsewhere = false;
    successes_ = failures_ = 0;
  }

  void Succeed() {
    failures_ = 0;
    if (++successes_ < kSuccessesToGrow) return;
    region_.side = std::min(2 * region_.side, kLargestSide);
    successes_ = 0;
  }

  void Fail(std::size_t last) {
    successes_ = 0;
    if (++failures_ < failures_to_shrink_) return;
    failures_ = 0;
    ChangeWith(last);
    region_.side /= 2;
    if (region_.side < Smallest()) Leave(last);
  }

  /// Leaves a stalled region: alternately for another basin and for the best point.
  void Leave(std::size_t last) {
    left_.push_back(region_.centre);
    if (++region_.stalls % 2 == 0) {
      MoveTo(best_, kSideAgain);
      return;
    }
    MoveTo(BestAway(last), kSideElsewhere);
    region_.elsewhere = region_.centre != best_;
  }

  double Smallest() const { return region_.stalls > 0 && region_.centre == best_ ? kSmallestAgain : kSmallest; }

  bool AreNear(std::size_t i, std::size_t j, double distance) const {
    return LargestDifference(complete_[i].at, complete_[j].at, axes_) <= distance;
  }
  /// Whether a point is away: not near an earlier centre, and without a better point nearby (Preuss 2012, "nearest
  /// better").
  bool IsAway(std::size_t i, std::size_t last) const {
    if (std::ranges::any_of(left_, [&](std::size_t centre) { return AreNear(i, centre, kNewBasin); })) return false;
    for (std::size_t j = 0; j <= last; ++j) {
      if (Value(j) < Value(i) && AreNear(i, j, kSlope)) return false;
    }
    return true;
  }
  /// The best point up to `last` that is away; the best of all if none is.
  std::size_t BestAway(std::size_t last) const {
    std::size_t best = best_;
    bool found = false;
    for (std::size_t i = 0; i <= last; ++i) {
      if ((found && !(Value(i) < Value(best))) || !IsAway(i, last)) continue;
      best = i;
      found = true;
    }
    return best;
  }

  std::span<const Observation> complete_;
  const std::vector<Axis>& axes_;
  std::size_t open_;
  int failures_to_shrink_;
  TrustRegion region_{0, kFirstSide, 0, false};
  std::size_t best_ = 0;
  std::size_t first_ = 0;  // the best of the design
  int successes_ = 0;
  int failures_ = 0;
  std::size_t first_to_know_ = 0;  // the region as it is
  std::vector<std::size_t> left_;  // the centres of regions that stalled
};

}  // namespace

double DifferenceOnAxis(double left, double right, const Axis& axis) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right) ? 0 : 1;
  if (axis.kind == AxisKind::kCategorical) return left == right ? 0 : 1;
  return std::abs(left - right);
}

double LargestDifference(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes) {
  double largest = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    largest = std::max(largest, DifferenceOnAxis(left[i], right[i], axes[i]));
  }
  return largest;
}

TrustRegion ReplayRegion(std::span<const Observation> complete, TrialNumber design, const std::vector<Axis>& axes,
                         std::size_t open) {
  Replay replay(complete, axes, open);
  for (std::size_t i = 0; i < complete.size(); ++i) {
    if (complete[i].trial < design) {
      replay.SeeDesign(i);
    } else {
      replay.See(i);
    }
  }
  return replay.region();
}

}  // namespace slipway::ensemble
