/// Fault injection: the manager kills itself at a named place, as kill -9 would. Tests use it to show: wherever the
/// manager dies, nothing is lost and nothing runs twice.
///
/// SLIPWAY_CRASH_AT=<name>[:n] switches it on: the manager dies the n-th time (default 1) that it reaches the place.
/// Without this variable a call costs one comparison.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::ensemble {

/// The names of all places, in the order in which a round of the manager reaches them.
const std::vector<std::string>& CrashPoints();

/// Dies here if SLIPWAY_CRASH_AT says so. `name` is one of CrashPoints().
void CrashPoint(std::string_view name);

}  // namespace slipway::ensemble
