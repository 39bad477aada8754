#include "launcher/spec/scheduler_settings.h"

#include <algorithm>

namespace slipway::launcher {

void SetParallel(ensemble::SchedulerSettings& settings, std::optional<int> parallel) {
  constexpr int kFewest = 2;  // of a population
  settings.parallel = parallel.value_or(std::max(settings.population, kFewest));
}

}  // namespace slipway::launcher
