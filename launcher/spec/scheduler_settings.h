/// Converts the section `ensemble.scheduler` to the ensemble's own settings.
#pragma once

#include <optional>

#include "core/json.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::launcher {

/// `section` has all its fields, defaults included. Settings that follow from the rest of the ensemble are not set.
ensemble::SchedulerSettings SchedulerSettingsFrom(const Json& section);

/// Sets how many trials run at a time, if the spec says it. Nothing means `auto`: the machine decides, so a population
/// of any size is accepted.
void SetParallel(ensemble::SchedulerSettings& settings, std::optional<int> parallel);

}  // namespace slipway::launcher
