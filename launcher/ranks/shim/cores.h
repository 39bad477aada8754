/// Cores as the manager names them: "0-3,8".
#pragma once

namespace slipway::shim {

/// This process, and what it starts, runs on these cores only. Returns 0, or errno: EINVAL for a text that is no list,
/// and where none of the cores may be used.
int BindTo(const char* list);

}  // namespace slipway::shim
