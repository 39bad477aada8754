#include "launcher/plan/grid_trials.h"

#include <limits>

#include "ensemble/samplers/sampler.h"
#include "ensemble/space/space.h"

namespace slipway::launcher {
namespace {

constexpr int kAsManyAsThereAre = std::numeric_limits<int>::max();

ensemble::SamplerSettings SettingsOf(const EnsembleSpec& ensemble) {
  ensemble::SamplerSettings settings{ensemble.sampler, ensemble.seed};
  settings.trials = ensemble.trials.value_or(kAsManyAsThereAre);
  settings.points = ensemble.points;
  return settings;
}

ensemble::SearchSpace SpaceOf(const EnsembleSpec& ensemble) {
  return ensemble::MakeSearchSpace(ensemble.space, ensemble.constraints);
}

/// Population based training makes configurations of its own from those of the sampler.
bool AllAreOfTheGrid(const EnsembleSpec& ensemble, const ensemble::SearchSpace& space) {
  if (ensemble.scheduler && ensemble.scheduler->settings.type == "pbt") return false;
  return ensemble::ResolveSampler(SettingsOf(ensemble), space) == "grid";
}

}  // namespace

std::optional<std::int64_t> CountTrials(const EnsembleSpec& ensemble) {
  const auto space = SpaceOf(ensemble);
  if (!AllAreOfTheGrid(ensemble, space)) return ensemble.trials;
  return ensemble::GridSizeUpTo(ensemble.trials.value_or(kAsManyAsThereAre), SettingsOf(ensemble), space);
}

std::int64_t CountGridTrials(const EnsembleSpec& ensemble) {
  return ensemble::GridSize(SettingsOf(ensemble), SpaceOf(ensemble));
}

}  // namespace slipway::launcher
