/// Binds to cores given as a list of the manager: "0-3,8".
#pragma once

namespace slipway::shim {

/// Binds this process, and what it starts, to these cores. Returns 0 or errno: EINVAL for a text that is no list, and
/// when none of the cores may be used.
int BindTo(const char* list);

}  // namespace slipway::shim
