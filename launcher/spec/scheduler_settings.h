/// The section `ensemble.scheduler` as the ensemble's own value.
#pragma once

#include <optional>

#include "core/json.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::launcher {

/// `section` with all its fields, defaults included. What follows from the rest of the ensemble is left as it is.
ensemble::SchedulerSettings SchedulerSettingsFrom(const Json& section);

/// How many trials run at a time, as far as the spec says it; nothing: `auto`, which the machine decides, so that a
/// population is let pass.
void SetParallel(ensemble::SchedulerSettings& settings, std::optional<int> parallel);

}  // namespace slipway::launcher
