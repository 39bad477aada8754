/// Fault injection: the manager kills itself at a named place, as kill -9 would, so that tests can show that nothing is
/// lost and nothing runs twice wherever it dies.
///
/// Switched on by SLIPWAY_CRASH_AT=<name>[:n], the n-th time (default 1) that the place is reached. Without it a call
/// costs one comparison. Names: before_tell_commit, after_tell_commit, before_claim_commit, after_claim_commit,
/// after_prepare, after_running_commit, after_release.
#pragma once

#include <string_view>

namespace slipway::ensemble {

void CrashPoint(std::string_view name);

}  // namespace slipway::ensemble
