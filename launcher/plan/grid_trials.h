/// The budget of an ensemble that names none.
#pragma once

#include <cstdint>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// How many trials the whole grid has, `points` included. Errors: Error(kUsage) when they are more than a million.
std::int64_t CountGridTrials(const EnsembleSpec& ensemble);

}  // namespace slipway::launcher
