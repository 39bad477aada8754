#include "staging/plan/tiers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/memory_left.h"
#include "staging/plan/tier_places.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::optional<struct stat> StatLink(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  return info;
}

std::optional<std::string> Unwritable(const fs::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return SystemError(errno, fmt::format("cannot write to '{}'", path.string())).message();
}

/// Any user may rename files in a directory that all can write and that is not sticky.
bool OpenToAll(const fs::path& directory) {
  struct stat info {};
  return ::stat(directory.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0;
}

/// Why an existing root must not be used.
std::optional<std::string> Unfit(const fs::path& root, const struct stat& info) {
  if (!S_ISDIR(info.st_mode)) return fmt::format("'{}' is not a directory", root.string());
  if (info.st_uid != ::geteuid()) return fmt::format("'{}' belongs to another user", root.string());
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("'{}' can be written by others (chmod go-w would help)", root.string());
  }
  return Unwritable(root);
}

}  // namespace

std::optional<std::string> WhyNotUsable(const fs::path& root) {
  if (OpenToAll(root.parent_path())) {
    return fmt::format("any user can replace '{}': '{}' is world-writable and not sticky", root.string(),
                       root.parent_path().string());
  }
  if (const auto info = StatLink(root)) return Unfit(root, *info);
  const auto parent = NearestExisting(root);
  if (!fs::is_directory(parent)) return fmt::format("'{}' is not a directory", parent.string());
  return Unwritable(parent);
}

bool LivesInMemory(const fs::path& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) ThrowErrno(fmt::format("cannot ask for the space of '{}'", path.string()));
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

FreeSpace FreeSpaceIn(const fs::path& path) {
  const auto space = SpaceOf(path);
  const bool no_limit = space.total_inodes == 0;
  return {LivesInMemory(path) ? std::min(space.available, MemoryLeft()) : space.available,
          no_limit ? std::numeric_limits<std::uint64_t>::max() : space.free_inodes};
}

Bytes LeftOf(Bytes capacity, const fs::path& root) {
  const auto taken = TakenBy(root).bytes;
  return Bytes{capacity.count - std::min(capacity, taken).count};
}

FreeSpace FreeSpaceIn(const StagingPlan& plan) {
  auto available = FreeSpaceIn(plan.root);
  if (plan.counts_as_memory) available.bytes = std::min(available.bytes, MemoryLeft());
  if (plan.capacity) available.bytes = std::min(available.bytes, LeftOf(*plan.capacity, plan.root));
  return available;
}

SpaceNeed TakenBy(const fs::path& tree) {
  constexpr std::uint64_t kUnitOfBlocks = 512;
  SpaceNeed taken;
  std::error_code error;  // what is being removed meanwhile is no fault; what cannot be read is none of ours
  for (fs::recursive_directory_iterator entry(tree, error), end; !error && entry != end; entry.increment(error)) {
    const auto info = StatLink(entry->path());
    if (!info) continue;
    taken.bytes.count += static_cast<std::uint64_t>(info->st_blocks) * kUnitOfBlocks;
    ++taken.inodes;
  }
  return taken;
}

void PrepareRoot(const StagingPlan& plan) {
  if (plan.root.empty())
    throw Error(ErrorKind::kInternal, "a staging plan without a root, or tier none without a directory for its links");
  MakeDirectories(plan.root.parent_path());
  const mode_t mode = ReadsInPlace(plan) ? kDirectoryMode : 0700;
  if (::mkdir(plan.root.c_str(), mode) != 0 && errno != EEXIST) {
    ThrowErrno(fmt::format("tier '{}': cannot create '{}'", plan.tier, plan.root.string()));
  }
  if (const auto reason = WhyNotUsable(plan.root)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("tier '{}' cannot be used: {}", plan.tier, *reason),
                "correct it, or name another tier");
  }
}

}  // namespace slipway::staging
