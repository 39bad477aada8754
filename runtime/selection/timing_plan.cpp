#include "runtime/selection/timing_plan.h"

#include <algorithm>

namespace slipway::runtime {
namespace {

constexpr std::size_t kEnds = 2;

}  // namespace

std::vector<std::int64_t> SizesFromBothEnds(std::int64_t smallest, std::int64_t largest, std::int64_t factor) {
  std::vector<std::int64_t> sizes;
  for (auto size = smallest; size < largest; size *= factor) sizes.push_back(size);
  sizes.push_back(largest);
  std::vector<std::size_t> taken = {0};
  if (sizes.size() > 1) taken.push_back(sizes.size() - 1);
  auto order = taken;
  while (taken.size() < sizes.size()) {
    std::size_t widest = 0;  // begins at taken[widest]
    for (std::size_t i = 1; i + 1 < taken.size(); ++i) {
      if (taken[i + 1] - taken[i] > taken[widest + 1] - taken[widest]) widest = i;
    }
    const auto middle = (taken[widest] + taken[widest + 1]) / 2;
    taken.insert(taken.begin() + static_cast<std::ptrdiff_t>(widest) + 1, middle);
    order.push_back(middle);
  }
  std::vector<std::int64_t> ordered;
  for (const auto index : order) ordered.push_back(sizes[index]);
  return ordered;
}

std::optional<std::int64_t> TimingPlan::NextSize() {
  if (next_ == sizes_.size() || (next_ >= kEnds && left_ <= 0)) return std::nullopt;
  ways_left_ = ways_;
  return sizes_[next_++];
}

/// All that is still to be timed has an equal share of the time.
int TimingPlan::RoundsOf(double seconds) const {
  const auto messages = static_cast<double>(sizes_.size() - next_) * ways_ + std::max(ways_left_, 1);
  const double times = left_ / (messages * std::max(seconds, 1e-9));
  return static_cast<int>(std::clamp(times - 1, 1.0, static_cast<double>(kMostRounds)));
}

void TimingPlan::Spend(double seconds, int times) {
  left_ -= seconds * times;
  --ways_left_;
}

}  // namespace slipway::runtime
