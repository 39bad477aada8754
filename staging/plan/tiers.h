/// The places of this node where data can be staged, and what they hold.
///
/// Names: `ram` (/dev/shm), `node` ($TMPDIR or /tmp), `burst` (what FindBurstBuffers finds first) and `burst:NAME`
/// (that one), `dir:PATH`, `none` (read in place), and what a site defines: under a name of its own, or `ram`, `node`
/// and `burst` anew. $SLIPWAY_TIER_RAM, _NODE and _BURST come before all of it.
///
/// Root: a SLIPWAY_TIER_ variable and `dir:` name the root itself, unless it is a directory that several users share
/// (sticky, like /tmp, or owned by the administrator): then, and in all other cases, the root is slipway-<uid> in it.
/// A root must be ours alone: one owned by somebody else, writable by group or others, or a planted link is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

enum class TierKind {
  kDisk,
  kRam,   ///< counts against memory, whatever its file system says
  kBurst  ///< DataWarp and its kin
};

/// A tier as a site describes it.
struct TierDefinition {
  std::string name;
  /// Absolute; `${NAME}` and `$NAME` stand for variables of the environment. Empty: the built-in place of `name`.
  std::string path;
  TierKind kind = TierKind::kDisk;
  std::optional<TierScope> scope;  ///< nothing: the built-in one, else what the kind and the file system suggest
  std::optional<Bytes> capacity;   ///< the most that all generations there may take
  Bytes bandwidth = {};            ///< most bytes a second; 0: no limit
  std::string origin;              ///< where it stands: "/etc/slipway/site.yaml:5"
};

/// Looks at the tiers without creating anything. What stands against one is its `reason`, not an error: also a variable
/// in its path that is not set, as a job's are not on a login node.
/// Cost:   a walk through the root of a tier with a capacity.
/// Errors: Error(kUsage) for a name that is none of the above.
std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted,
                                     const std::vector<TierDefinition>& site = {});

/// The names of all tiers that this machine has by itself and by `site`: those of the site first, then the buffers of
/// the batch system, node, ram.
std::vector<std::string> KnownTiers(const std::vector<TierDefinition>& site);

/// Creates the root with mode 0700 (0750 for `none`, whose root lies in a run folder) or finds it fit.
/// Errors: Error(kEnvironment) with the reason.
void PrepareRoot(const StagingPlan& plan);

/// What may still be written below `path`: the file system's space and, where it lives in RAM, the memory left.
struct Room {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
Room RoomIn(const std::filesystem::path& path);
/// The same in the tier of a plan: at most what is left of its capacity.
Room RoomIn(const StagingPlan& plan);
/// Blocks and inodes that a tree takes; nothing when it is not there. Cost: one stat for each file.
SpaceNeed TakenBy(const std::filesystem::path& tree);

/// True where files need no fsync: tmpfs and ramfs.
bool LivesInMemory(const std::filesystem::path& path);

}  // namespace slipway::staging
