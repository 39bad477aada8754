#include "staging/plan/tiers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "staging/generation/generation.h"
#include "staging/plan/burst_buffers.h"
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

fs::path NearestExisting(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

struct Place {
  fs::path root;
  std::string missing;  ///< why there is no root
  TierScope scope = TierScope::kNode;
  std::string origin = "built in";
};

Place OwnPlaceIn(const fs::path& parent) {
  std::error_code error;
  const auto resolved = fs::weakly_canonical(parent, error);
  return {(error ? parent : resolved) / OwnName(), {}};
}

/// Every node of a job sees the files of these.
bool IsOnNetwork(const fs::path& path) {
  constexpr std::array<std::uint32_t, 9> kNetwork = {
      0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,   0x6969 /* NFS */,
      0x01161970 /* GFS2 */,   0x19830326 /* BeeGFS */, 0x00c36400 /* Ceph */,
      0xff534d42 /* CIFS */,   0x5346414f /* AFS */,    0x7461636f /* OCFS2 */};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  const auto magic = static_cast<std::uint32_t>(info.f_type);
  return std::find(kNetwork.begin(), kNetwork.end(), magic) != kNetwork.end();
}

TierScope ScopeOf(const fs::path& path) { return IsOnNetwork(path) ? TierScope::kJob : TierScope::kNode; }

/// The batch system makes the directory anew for each job or user, and gives it to the user.
Place PlaceInBuffer(const BurstBuffer& buffer) {
  auto place = OwnPlaceIn(buffer.path);
  place.scope = buffer.scope.value_or(ScopeOf(buffer.path));
  place.origin = buffer.variable;
  return place;
}

std::string NamesOfBuffers(const std::vector<BurstBuffer>& buffers) {
  std::string names;
  for (const auto& buffer : buffers) names += (names.empty() ? "burst:" : ", burst:") + buffer.name;
  return names;
}

/// A buffer of the job itself; one that was given a name is taken unnamed only where it is the only one.
Place BurstPlace() {
  const auto buffers = FindBurstBuffers(OwnEnvironment());
  if (buffers.empty()) {
    return {{}, "no burst buffer here (none of SLIPWAY_TIER_BURST, DW_JOB_STRIPED, BB_JOB_STRIPED is set)"};
  }
  constexpr int kLastUnnamed = 1;
  if (buffers.front().rank > kLastUnnamed && buffers.size() > 1)
    return {{}, "there are several burst buffers: say " + NamesOfBuffers(buffers)};
  return PlaceInBuffer(buffers.front());
}

Place NamedBufferPlace(std::string_view name) {
  const auto buffers = FindBurstBuffers(OwnEnvironment());
  if (const auto buffer = FindBurstBuffer(buffers, name)) return PlaceInBuffer(*buffer);
  const auto known = buffers.empty() ? "there is none" : "there is " + NamesOfBuffers(buffers);
  return {{}, fmt::format("no burst buffer '{}' here ({})", name, known)};
}

Place PlaceFromVariable(const char* variable, const fs::path& path) {
  if (!path.is_absolute()) return {{}, fmt::format("{} is not an absolute path", variable)};
  return {RootAt(path), {}, ScopeOf(path), variable};
}

Place DirectoryPlace(const std::string& name) {
  const fs::path path = name.substr(4);
  if (!path.is_absolute()) {
    throw Error(ErrorKind::kUsage, fmt::format("the tier '{}' does not name an absolute path", name));
  }
  return {RootAt(path), {}, ScopeOf(NearestExisting(path)), "its own name"};
}

/// Nothing for a name that is not built in.
std::optional<Place> BuiltInPlace(const std::string& name) {
  if (name == "ram") return OwnPlaceIn("/dev/shm");
  if (name == "burst") return BurstPlace();
  if (name.starts_with("burst:")) return NamedBufferPlace(std::string_view(name).substr(6));
  if (name.starts_with("dir:")) return DirectoryPlace(name);
  if (name != "node") return {};
  const auto temporary = FromEnvironment("TMPDIR");
  auto place = OwnPlaceIn(temporary.value_or("/tmp"));
  if (temporary) place.origin = "TMPDIR";
  return place;
}

/// The user's own word for one of the three tiers that every machine has.
std::optional<Place> OverriddenPlace(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 3> kVariables = {
      {{"ram", "SLIPWAY_TIER_RAM"}, {"node", "SLIPWAY_TIER_NODE"}, {"burst", "SLIPWAY_TIER_BURST"}}};
  for (const auto& [tier, variable] : kVariables) {
    if (tier != name) continue;
    if (const auto path = FromEnvironment(variable)) return PlaceFromVariable(variable, *path);
  }
  return {};
}

bool IsVariableCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Replaces `${NAME}` and `$NAME`; stops at the first variable that is not set and names it in `unset`.
std::string ExpandVariables(std::string_view text, std::string& unset) {
  std::string result;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    const bool braces = text.starts_with('{');
    if (braces) text.remove_prefix(1);
    const auto end = std::find_if_not(text.begin(), text.end(), IsVariableCharacter);
    const std::string name(text.begin(), end);
    text.remove_prefix(name.size());
    if (braces && text.starts_with('}')) text.remove_prefix(1);
    const auto value = FromEnvironment(name.c_str());
    if (!value) {
      unset = name;
      return {};
    }
    result += value->string();
  }
  return result;
}

Place PlaceAtSite(const TierDefinition& tier) {
  std::string unset;
  const fs::path path = ExpandVariables(tier.path, unset);
  if (!unset.empty()) return {{}, fmt::format("{} is not set here ({})", unset, tier.origin)};
  if (!path.is_absolute()) return {{}, fmt::format("'{}' is not an absolute path ({})", path.string(), tier.origin)};
  return {RootAt(path), {}, ScopeOf(NearestExisting(path)), tier.origin};
}

const TierDefinition* FindDefinition(const std::vector<TierDefinition>& site, const std::string& name) {
  const auto found = std::find_if(site.begin(), site.end(), [&](const auto& tier) { return tier.name == name; });
  return found == site.end() ? nullptr : &*found;
}

/// The user's environment comes before the site, the site before what is built in.
Place PlaceOf(const std::string& name, const TierDefinition* site) {
  auto place = OverriddenPlace(name);
  if (!place && site != nullptr && !site->path.empty()) place = PlaceAtSite(*site);
  if (!place) place = BuiltInPlace(name);
  if (!place) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a tier", name),
                "tiers are burst, burst:NAME, node, ram, dir:PATH, none and those that the site defines (site.tiers)");
  }
  if (site != nullptr && site->scope) place->scope = *site->scope;
  return std::move(*place);
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

TierState ReadInPlace() {
  TierState state{"none", {}, Bytes{kAll}, kAll, true, {}, {}};
  state.scope = TierScope::kJob;
  state.origin = "built in";
  return state;
}

/// What is left of a limit for the files in `root`.
Bytes LeftOf(Bytes capacity, const fs::path& root) {
  const auto taken = TakenBy(root).bytes;
  return Bytes{capacity.count - std::min(capacity, taken).count};
}

void Examine(TierState& state, TierKind kind) {
  if (auto reason = WhyNotUsable(state.root)) {
    state.reason = std::move(*reason);
    return;
  }
  const auto room = RoomIn(NearestExisting(state.root));
  const auto leftovers = LeftoversIn(state.root);  // they go when room lacks
  state.available = Bytes{room.bytes.count + leftovers.bytes.count};
  if (kind == TierKind::kRam) state.available = std::min(state.available, MemoryLeft());
  if (state.capacity) {
    const auto left = LeftOf(*state.capacity, state.root).count + leftovers.bytes.count;
    state.available = std::min({state.available, Bytes{left}, *state.capacity});
  }
  state.free_inodes = room.inodes + std::min(leftovers.inodes, kAll - room.inodes);
  state.generations = GenerationsIn(state.root);
  state.being_staged = StagingsIn(state.root);
  state.usable = true;
}

TierState Discover(const std::string& name, const TierDefinition* site) {
  if (name == "none") return ReadInPlace();
  auto place = PlaceOf(name, site);
  TierState state;
  state.name = name;
  state.root = std::move(place.root);
  state.reason = std::move(place.missing);
  state.scope = place.scope;
  state.origin = std::move(place.origin);
  if (site != nullptr) {
    state.capacity = site->capacity;
    state.bandwidth = site->bandwidth;
  }
  if (!state.reason.empty()) return state;
  try {
    Examine(state, site == nullptr ? TierKind::kDisk : site->kind);
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

Room RoomIn(const StagingPlan& plan) {
  auto room = RoomIn(plan.root);
  if (plan.capacity) room.bytes = std::min(room.bytes, LeftOf(*plan.capacity, plan.root));
  return room;
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

std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted, const std::vector<TierDefinition>& site) {
  std::vector<TierState> states;
  states.reserve(wanted.size());
  for (const auto& name : wanted) states.push_back(Discover(name, FindDefinition(site, name)));
  return states;
}

std::vector<std::string> KnownTiers(const std::vector<TierDefinition>& site) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  for (const auto& tier : site) add(tier.name);
  if (FromEnvironment("SLIPWAY_TIER_BURST")) add("burst");
  for (const auto& buffer : FindBurstBuffers(OwnEnvironment())) add("burst:" + buffer.name);
  add("node");
  add("ram");
  return names;
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
