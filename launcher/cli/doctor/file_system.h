/// What kind of file system a path lies on.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// "ext4", "nfs4", "tmpfs": that of the innermost mount point above `path`, which is absolute and free of links. Of two
/// mounts at one point the later one counts. `mounts` is the text of /proc/self/mountinfo. Empty when it tells nothing.
/// Pure. Source: Linux, proc_pid_mountinfo(5).
std::string FileSystemOf(const std::filesystem::path& path, std::string_view mounts);

}  // namespace slipway::launcher
