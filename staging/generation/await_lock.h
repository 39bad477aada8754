/// Waiting for a lock that others hold for long, without asking for it all the time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/files.h"

namespace slipway::staging {

/// Takes the exclusive lock at `path`. While waiting, `on_wait` is called about twenty times a second and may throw.
/// The lock may lie on a network file system, so it is tried less and less often, down to once a second.
FileLock AwaitLock(const std::filesystem::path& path, const std::function<void()>& on_wait);

}  // namespace slipway::staging
