/// Check "runs": the folder that run folders are made in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

// What kind of file system a path lies on.

/// "ext4", "nfs4", "tmpfs": that of the innermost mount point above `path`, which is absolute and free of links. Of two
/// mounts at one point the later one counts. `mounts` is the text of /proc/self/mountinfo. Empty when it tells nothing.
/// Pure. Source: Linux, proc_pid_mountinfo(5).
std::string FileSystemOf(const std::filesystem::path& path, std::string_view mounts);

struct RunRootFacts {
  std::filesystem::path path;
  std::string why_not_writable;  ///< empty: it is
  std::string file_system;       ///< "ext4"; empty: not known
  bool wal_is_safe = true;       ///< SQLite may keep its write-ahead log there
  bool shared = false;           ///< other nodes see it
  bool for_slurm = false;        ///< runs go to Slurm
  Bytes available;
  std::uint64_t free_inodes = 0;
  bool counts_inodes = false;
};

/// Tries in the folder, or in the nearest one above that is there, whether a file can be written. Leaves nothing.
RunRootFacts ProbeRunRoot(const std::filesystem::path& runs_directory, bool for_slurm);
/// Pure.
Findings Judge(const RunRootFacts& facts);

}  // namespace slipway::launcher
