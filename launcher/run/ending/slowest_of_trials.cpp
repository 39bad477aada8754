#include "launcher/run/ending/slowest_of_trials.h"

#include <algorithm>

namespace slipway::launcher {
namespace {

/// Each has as many manifests as checkpoints are kept.
constexpr std::size_t kTrialsOfALook = 32;

}  // namespace

std::optional<Seconds> SlowestOfTrials::Look(const std::vector<ensemble::TrialNumber>& running,
                                             const PlaceOf& place_of) {
  auto at = std::ranges::lower_bound(running, next_);
  for (std::size_t left = std::min(running.size(), kTrialsOfALook); left > 0; --left) {
    if (at == running.end()) at = running.begin();
    slowest_ = std::max(slowest_, SlowestCheckpoint(place_of(*at)));  // nothing is less than anything
    next_ = *at++ + 1;
  }
  return slowest_;
}

}  // namespace slipway::launcher
