/// Which processes hold a lock file: `FileLock` says only that it is held.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace slipway {

struct LockHolder {
  pid_t pid = 0;
  std::string command;  ///< the name of the program; empty when it may not be asked for
  bool operator==(const LockHolder&) const = default;
};

/// One lock of /proc/locks.
struct HeldLock {
  pid_t pid = 0;
  unsigned major = 0;
  unsigned minor = 0;
  ino_t inode = 0;
};

/// The flock(2) locks that are held (not those that wait), read from text in the form of /proc/locks. Lines of another
/// form are left out.
std::vector<HeldLock> ParseLocks(std::string_view text);

/// The processes of this machine that hold a lock on `path`, sorted by number; none when the file does not exist.
/// Processes of other machines and of other process namespaces cannot be seen.
std::vector<LockHolder> HoldersOf(const std::filesystem::path& path);

/// "process 12 (slipway)", "processes 12 (slipway), 14 (python3)"; for none: "a process that cannot be seen from here".
std::string Describe(const std::vector<LockHolder>& holders);
Json ToJson(const std::vector<LockHolder>& holders);

}  // namespace slipway
