#include "staging/plan/tiers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "staging/generation/generation.h"
#include "staging/plan/memory_left.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return fs::path(value);
}

std::string OwnName() { return fmt::format("slipway-{}", ::geteuid()); }

std::optional<struct stat> StatLink(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  return info;
}

/// A directory in which every user makes a place of their own.
bool IsShared(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  return (info.st_mode & S_ISVTX) != 0 || (info.st_uid == 0 && ::geteuid() != 0);
}

/// The root for a place that the user or the site named.
fs::path RootAt(const fs::path& place) {
  std::error_code error;
  auto root = fs::weakly_canonical(place, error);
  if (error) root = place;
  return IsShared(root) ? root / OwnName() : root;
}

struct Place {
  fs::path root;
  std::string missing;  ///< why there is no root
};

Place OwnPlaceIn(const fs::path& parent) {
  std::error_code error;
  const auto resolved = fs::weakly_canonical(parent, error);
  return {(error ? parent : resolved) / OwnName(), {}};
}

Place BurstPlace() {
  for (const char* name : {"DW_JOB_STRIPED", "BB_JOB_STRIPED"}) {
    if (const auto path = FromEnvironment(name)) return OwnPlaceIn(*path);
  }
  return {{}, "no burst buffer here (none of SLIPWAY_TIER_BURST, DW_JOB_STRIPED, BB_JOB_STRIPED is set)"};
}

Place NamedPlace(const char* variable, Place (*otherwise)()) {
  const auto named = FromEnvironment(variable);
  if (!named) return otherwise();
  if (!named->is_absolute()) return {{}, fmt::format("{} is not an absolute path", variable)};
  return {RootAt(*named), {}};
}

Place DirectoryPlace(const std::string& name) {
  const fs::path path = name.substr(4);
  if (!path.is_absolute()) {
    throw Error(ErrorKind::kUsage, fmt::format("the tier '{}' does not name an absolute path", name));
  }
  return {RootAt(path), {}};
}

Place PlaceOf(const std::string& name) {
  if (name == "ram") return NamedPlace("SLIPWAY_TIER_RAM", [] { return OwnPlaceIn("/dev/shm"); });
  if (name == "node") {
    return NamedPlace("SLIPWAY_TIER_NODE", [] { return OwnPlaceIn(FromEnvironment("TMPDIR").value_or("/tmp")); });
  }
  if (name == "burst") return NamedPlace("SLIPWAY_TIER_BURST", BurstPlace);
  if (name.starts_with("dir:")) return DirectoryPlace(name);
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a tier", name),
              "tiers are burst, node, ram, dir:PATH and none");
}

fs::path NearestExisting(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

std::optional<std::string> Unwritable(const fs::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return SystemError(errno, fmt::format("cannot write to '{}'", path.string())).message();
}

/// Anybody may rename what lies in a directory that all can write and that is not sticky.
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

std::optional<std::string> WhyNotUsable(const fs::path& root) {
  if (OpenToAll(root.parent_path())) {
    return fmt::format("anybody can replace '{}': '{}' can be written by all and is not sticky", root.string(),
                       root.parent_path().string());
  }
  if (const auto info = StatLink(root)) return Unfit(root, *info);
  const auto parent = NearestExisting(root);
  if (!fs::is_directory(parent)) return fmt::format("'{}' is not a directory", parent.string());
  return Unwritable(parent);
}

constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();

TierState ReadInPlace() { return {"none", {}, Bytes{kAll}, kAll, true, {}, {}}; }

void Examine(TierState& state) {
  if (auto reason = WhyNotUsable(state.root)) {
    state.reason = std::move(*reason);
    return;
  }
  const auto room = RoomIn(NearestExisting(state.root));
  const auto leftovers = LeftoversIn(state.root);  // they go when room lacks
  state.available = Bytes{room.bytes.count + leftovers.bytes.count};
  state.free_inodes = room.inodes + std::min(leftovers.inodes, kAll - room.inodes);
  state.generations = GenerationsIn(state.root);
  state.usable = true;
}

TierState Discover(const std::string& name) {
  if (name == "none") return ReadInPlace();
  auto place = PlaceOf(name);
  TierState state;
  state.name = name;
  state.root = std::move(place.root);
  state.reason = std::move(place.missing);
  if (!state.reason.empty()) return state;
  try {
    Examine(state);
  } catch (const Error& error) {
    state.reason = error.message();
  }
  return state;
}

}  // namespace

bool LivesInMemory(const fs::path& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) ThrowErrno(fmt::format("cannot ask for the space of '{}'", path.string()));
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

Room RoomIn(const fs::path& path) {
  const auto space = SpaceOf(path);
  const bool no_limit = space.total_inodes == 0;
  return {LivesInMemory(path) ? std::min(space.available, MemoryLeft()) : space.available,
          no_limit ? std::numeric_limits<std::uint64_t>::max() : space.free_inodes};
}

std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted) {
  std::vector<TierState> states;
  states.reserve(wanted.size());
  for (const auto& name : wanted) states.push_back(Discover(name));
  return states;
}

void PrepareRoot(const StagingPlan& plan) {
  if (plan.root.empty())
    throw Error(ErrorKind::kInternal, "a staging plan without a root, or tier none without a directory for its links");
  MakeDirectories(plan.root.parent_path());
  const mode_t mode = plan.tier == "none" ? kDirectoryMode : 0700;
  if (::mkdir(plan.root.c_str(), mode) != 0 && errno != EEXIST) {
    ThrowErrno(fmt::format("tier '{}': cannot create '{}'", plan.tier, plan.root.string()));
  }
  if (const auto reason = WhyNotUsable(plan.root)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("tier '{}' cannot be used: {}", plan.tier, *reason));
  }
}

}  // namespace slipway::staging
