/// The roots of tiers: whether they may be used, and the space in them. A root must be ours alone: one owned by another
/// user, writable by group or others, or a planted link is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Why `root` must or can not be used; nothing when it may, also when it has still to be made.
std::optional<std::string> WhyNotUsable(const std::filesystem::path& root);

/// Creates the root with mode 0700 (0750 for `none`, whose root lies in a run folder), or checks an existing one.
/// Errors: Error(kEnvironment) with the reason.
void PrepareRoot(const StagingPlan& plan);

/// What may still be written below `path`: the file system's space and, where it lives in RAM, the memory left.
struct FreeSpace {
  Bytes bytes;
  std::uint64_t inodes = 0;
};
FreeSpace FreeSpaceIn(const std::filesystem::path& path);
/// The same in the tier of a plan: at most the rest of its capacity, and of the memory if the tier counts as memory.
FreeSpace FreeSpaceIn(const StagingPlan& plan);
/// What is left of a limit for the files in `root`. Cost: TakenBy.
Bytes LeftOf(Bytes capacity, const std::filesystem::path& root);
/// Blocks and inodes that a tree takes; nothing when it is not there. Cost: one stat for each file.
SpaceNeed TakenBy(const std::filesystem::path& tree);

/// True where files need no fsync: tmpfs and ramfs.
bool LivesInMemory(const std::filesystem::path& path);

}  // namespace slipway::staging
