/// How many trials an ensemble has.
#pragma once

#include <cstdint>
#include <optional>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// How many configurations will be tried: `trials`, or all that the grid has where it has fewer. Nothing: some
/// hundred thousand steps on the grid do not tell. Cost: so many steps at most, less than a second.
std::optional<std::int64_t> CountTrials(const EnsembleSpec& ensemble);

/// How many trials the whole grid has, `points` included. Errors: Error(kUsage) when they are more than a million.
std::int64_t CountGridTrials(const EnsembleSpec& ensemble);

}  // namespace slipway::launcher
