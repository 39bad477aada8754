#include "ensemble/model/history.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {

void History::Take(std::int64_t step, double value, double elapsed) {
  if (!attempt_has_reported_) entries_.erase(entries_.lower_bound(step), entries_.end());
  attempt_has_reported_ = true;
  entries_[step] = {value, elapsed};
}

std::optional<double> History::Value() const {
  if (objective_.reach) return TimeToReach();
  if (objective_.counts == CountedValue::kBest) return BestReported();
  if (entries_.empty()) return std::nullopt;
  return entries_.rbegin()->second.value;
}

std::optional<double> History::BestReported() const {
  std::optional<double> best;
  for (const auto& [step, entry] : entries_) {
    if (!best || std::isnan(*best) || IsBetter(entry.value, *best, objective_.goal)) best = entry.value;
  }
  return best;
}

std::optional<double> History::TimeToReach() const {
  std::optional<double> least;
  for (const auto& [step, entry] : entries_) {
    const bool reached = entry.value == *objective_.reach || IsBetter(entry.value, *objective_.reach, objective_.goal);
    if (reached) least = std::min(least.value_or(entry.elapsed), entry.elapsed);
  }
  return least;
}

}  // namespace slipway::ensemble
