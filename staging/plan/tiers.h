/// The places of this node where data can be staged, and what they hold.
///
/// Names: `burst` ($SLIPWAY_TIER_BURST, else $DW_JOB_STRIPED or $BB_JOB_STRIPED), `node` ($SLIPWAY_TIER_NODE, else
/// $TMPDIR or /tmp), `ram` ($SLIPWAY_TIER_RAM, else /dev/shm), `dir:PATH`, `none` (read in place).
///
/// Root: a SLIPWAY_TIER_ variable and `dir:` name the root itself, unless it is a directory that several users share
/// (sticky, like /tmp, or owned by the administrator): then, and in all other cases, the root is slipway-<uid> in it.
/// A root must be ours alone: one owned by somebody else, writable by group or others, or a planted link is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Looks at the tiers without creating anything. What stands against one is its `reason`, not an error.
/// Errors: Error(kUsage) for a name that is none of the above.
std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted);

/// Creates the root with mode 0700 (0750 for `none`, whose root lies in a run folder) or finds it fit.
/// Errors: Error(kEnvironment) with the reason.
void PrepareRoot(const StagingPlan& plan);

/// What may still be written below `path`: the file system's space and, where it lives in RAM, the memory left.
struct Room {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
Room RoomIn(const std::filesystem::path& path);

/// True where files need no fsync: tmpfs and ramfs.
bool LivesInMemory(const std::filesystem::path& path);

}  // namespace slipway::staging
