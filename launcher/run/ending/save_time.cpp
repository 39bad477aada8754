#include "launcher/run/ending/save_time.h"

#include <algorithm>

#include "core/checkpoint.h"

namespace slipway::launcher {

std::optional<Seconds> SlowestCheckpoint(const AttemptPlace& place) {
  double slowest = 0;
  for (const auto& folder : {place.checkpoints, place.run / "checkpoints"}) {
    for (const auto& published : PublishedCheckpoints(folder)) {
      const auto manifest = ReadCheckpointManifest(published.directory);
      if (manifest) slowest = std::max(slowest, manifest->info.seconds);
    }
  }
  return slowest > 0 ? std::optional(Seconds(slowest)) : std::nullopt;
}

Seconds TimeToSave(Seconds slowest) { return 2 * slowest; }

Seconds ForTheManager(Seconds left) { return std::clamp(left / 2, Seconds(0), kLongestForTheManager); }

Seconds TimeAtLimit(const Plan& plan, const AttemptPlace& place, std::optional<Seconds> left) {
  const Seconds said = plan.engine == "slurm" ? plan.spec().launch.slurm.signal_before : Seconds(0);
  const auto wanted = std::max(said, TimeToSave(SlowestCheckpoint(place).value_or(Seconds(0))));
  return left ? std::min(wanted, std::max(*left - ForTheManager(*left), Seconds(0))) : wanted;
}

std::optional<Seconds> SlowestOfTrials::Look(const std::vector<ensemble::TrialNumber>& running,
                                             const PlaceOf& place_of) {
  constexpr std::size_t kTrialsOfALook = 32;  // each has as many manifests as checkpoints are kept
  auto at = std::ranges::lower_bound(running, next_);
  for (std::size_t left = std::min(running.size(), kTrialsOfALook); left > 0; --left) {
    if (at == running.end()) at = running.begin();
    slowest_ = std::max(slowest_, SlowestCheckpoint(place_of(*at)));  // nothing is less than anything
    next_ = *at++ + 1;
  }
  return slowest_;
}

}  // namespace slipway::launcher
