/// Check "runs": the parent directory of run folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

// The type of the file system of a path.

/// "ext4", "nfs4", "tmpfs": the type at the innermost mount point above `path`, which is absolute and free of links. Of
/// two mounts at one point the later one counts. `mounts` is the text of /proc/self/mountinfo. Empty when unknown.
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

/// Tries to write a file in the folder, or in the nearest existing parent. Removes the file.
RunRootFacts ProbeRunRoot(const std::filesystem::path& runs_directory, bool for_slurm);
/// Pure.
Findings Judge(const RunRootFacts& facts);

}  // namespace slipway::launcher
