#include "launcher/view/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace slipway::launcher {
namespace {

constexpr std::size_t kPointsOfBucket = 2;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

CurveThinner::CurveThinner(std::size_t most_points)
    : most_buckets_(std::max<std::size_t>(2, most_points / kPointsOfBucket) / 2 * 2) {}

void CurveThinner::Add(const CurvePoint& point) {
  if (!first_) first_ = point;
  last_ = point;
  if (count_ == width_ * most_buckets_) HalveBuckets();
  if (count_ % width_ == 0) buckets_.emplace_back();
  Bucket one;
  const Placed placed{count_++, point};
  if (std::isfinite(point.value)) {
    one.lowest = one.highest = placed;
  } else {
    one.not_finite = placed;
    ++not_finite_;
  }
  Join(buckets_.back(), one);
}

void CurveThinner::Join(Bucket& bucket, const Bucket& later) {
  if (later.lowest && (!bucket.lowest || later.lowest->point.value < bucket.lowest->point.value)) {
    bucket.lowest = later.lowest;
  }
  if (later.highest && (!bucket.highest || later.highest->point.value > bucket.highest->point.value)) {
    bucket.highest = later.highest;
  }
  if (!bucket.not_finite) bucket.not_finite = later.not_finite;
}

void CurveThinner::HalveBuckets() {
  for (std::size_t i = 0; i < buckets_.size() / 2; ++i) {
    auto joined = buckets_[2 * i];
    Join(joined, buckets_[2 * i + 1]);
    buckets_[i] = joined;
  }
  buckets_.resize(buckets_.size() / 2);
  width_ *= 2;
}

std::vector<CurvePoint> CurveThinner::Points() const {
  std::map<std::uint64_t, CurvePoint> in_order;
  for (const auto& bucket : buckets_) {
    for (const auto& placed : {bucket.lowest, bucket.highest, bucket.not_finite}) {
      if (placed) in_order.emplace(placed->place, placed->point);
    }
  }
  if (first_) in_order.emplace(0, *first_);
  if (last_) in_order.emplace(count_ - 1, *last_);
  std::vector<CurvePoint> points;
  points.reserve(in_order.size());
  for (const auto& [place, point] : in_order) points.push_back(point);
  return points;
}

double CurveThinner::lowest() const {
  double lowest = kNaN;
  for (const auto& bucket : buckets_) {
    if (bucket.lowest) lowest = std::fmin(lowest, bucket.lowest->point.value);
  }
  return lowest;
}

double CurveThinner::highest() const {
  double highest = kNaN;
  for (const auto& bucket : buckets_) {
    if (bucket.highest) highest = std::fmax(highest, bucket.highest->point.value);
  }
  return highest;
}

}  // namespace slipway::launcher
