#include "launcher/plan/grid_trials.h"

#include "ensemble/samplers/sampler.h"
#include "ensemble/space.h"

namespace slipway::launcher {

std::int64_t CountGridTrials(const EnsembleSpec& ensemble) {
  ensemble::SamplerSettings settings{"grid", ensemble.seed};
  settings.points = ensemble.points;
  return ensemble::GridSize(settings, ensemble::MakeSearchSpace(ensemble.space, ensemble.constraints));
}

}  // namespace slipway::launcher
