/// The section `ensemble.scheduler` as the ensemble's own value.
#pragma once

#include "core/json.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::launcher {

/// `section` with all its fields, defaults included. What follows from the rest of the ensemble is left as it is.
ensemble::SchedulerSettings SchedulerSettingsFrom(const Json& section);

}  // namespace slipway::launcher
