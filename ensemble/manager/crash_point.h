/// Fault injection: the manager kills itself at a named place, as kill -9 would, so that tests can show that nothing is
/// lost and nothing runs twice wherever it dies.
///
/// Switched on by SLIPWAY_CRASH_AT=<name>[:n], the n-th time (default 1) that the place is reached. Without it a call
/// costs one comparison.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::ensemble {

/// The names of all places, in the order of a round of the manager.
const std::vector<std::string>& CrashPoints();

/// `name` is one of them.
void CrashPoint(std::string_view name);

}  // namespace slipway::ensemble
