/// Counts the trials of an ensemble.
#pragma once

#include <cstdint>
#include <optional>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The number of configurations: `trials`, or the size of the grid if that is smaller. Nothing when some hundred
/// thousand steps on the grid do not settle it. Cost: at most that many steps, less than a second.
std::optional<std::int64_t> CountTrials(const EnsembleSpec& ensemble);

/// The number of trials of the whole grid, `points` included. Errors: Error(kUsage) above a million.
std::int64_t CountGridTrials(const EnsembleSpec& ensemble);

}  // namespace slipway::launcher
