#include "staging/plan/tier_places.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/plan/burst_buffers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> FromEnvironment(const char* name) {
  const auto value = Variable(name);
  return value.empty() ? std::nullopt : std::optional<fs::path>(value);
}

std::string OwnName() { return fmt::format("slipway-{}", ::geteuid()); }

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

TierPlace OwnPlaceIn(const fs::path& parent) {
  std::error_code error;
  const auto resolved = fs::weakly_canonical(parent, error);
  return {(error ? parent : resolved) / OwnName(), {}};
}

TierScope ScopeOf(const fs::path& path) { return LivesOnNetwork(path) ? TierScope::kJob : TierScope::kNode; }

/// The batch system creates a new directory for each job or user, and gives it to the user.
TierPlace PlaceInBuffer(const BurstBuffer& buffer) {
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
TierPlace BurstPlace() {
  const auto buffers = FindBurstBuffers(OwnEnvironment());
  if (buffers.empty()) {
    return {{}, "no burst buffer here (none of SLIPWAY_TIER_BURST, DW_JOB_STRIPED, BB_JOB_STRIPED is set)"};
  }
  constexpr int kLastUnnamed = 1;
  if (buffers.front().rank > kLastUnnamed && buffers.size() > 1)
    return {{}, "there are several burst buffers: say " + NamesOfBuffers(buffers)};
  return PlaceInBuffer(buffers.front());
}

TierPlace NamedBufferPlace(std::string_view name) {
  const auto buffers = FindBurstBuffers(OwnEnvironment());
  if (const auto buffer = FindBurstBuffer(buffers, name)) return PlaceInBuffer(*buffer);
  const auto known = buffers.empty() ? "there is none" : "there is " + NamesOfBuffers(buffers);
  return {{}, fmt::format("no burst buffer '{}' here ({})", name, known)};
}

TierPlace PlaceFromVariable(const char* variable, const fs::path& path) {
  if (!path.is_absolute()) return {{}, fmt::format("{} is not an absolute path", variable)};
  return {RootAt(path), {}, ScopeOf(path), variable};
}

TierPlace DirectoryPlace(const std::string& name) {
  const fs::path path = name.substr(4);
  if (!path.is_absolute()) {
    throw Error(ErrorKind::kUsage, fmt::format("the tier '{}' does not name an absolute path", name),
                "write dir:/PATH");
  }
  return {RootAt(path), {}, ScopeOf(NearestExisting(path)), "its own name"};
}

/// Nothing for a name that is not built in.
std::optional<TierPlace> BuiltInPlace(const std::string& name) {
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
std::optional<TierPlace> OverriddenPlace(const std::string& name) {
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

TierPlace PlaceAtSite(const TierDefinition& tier) {
  std::string unset;
  const fs::path path = ExpandVariables(tier.path, unset);
  if (!unset.empty()) return {{}, fmt::format("{} is not set here ({})", unset, tier.origin)};
  if (!path.is_absolute()) return {{}, fmt::format("'{}' is not an absolute path ({})", path.string(), tier.origin)};
  return {RootAt(path), {}, ScopeOf(NearestExisting(path)), tier.origin};
}

}  // namespace

WordTable<TierKind> WordsOf(TierKind) {
  static constexpr Word<TierKind> kWords[] = {{TierKind::kDisk, "disk"},
                                              {TierKind::kRam, "ram", "counts against memory"},
                                              {TierKind::kBurst, "burst", "DataWarp and its kin"}};
  return kWords;
}

bool LivesOnNetwork(const fs::path& path) {
  constexpr std::array<std::uint32_t, 9> kNetwork = {
      0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,   0x6969 /* NFS */,
      0x01161970 /* GFS2 */,   0x19830326 /* BeeGFS */, 0x00c36400 /* Ceph */,
      0xff534d42 /* CIFS */,   0x5346414f /* AFS */,    0x7461636f /* OCFS2 */};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  const auto magic = static_cast<std::uint32_t>(info.f_type);
  return std::find(kNetwork.begin(), kNetwork.end(), magic) != kNetwork.end();
}

fs::path NearestExisting(fs::path path) {
  while (!Exists(path) && path.has_relative_path()) path = path.parent_path();
  return path;
}

TierPlace PlaceOf(const std::string& name, const TierDefinition* site) {
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

}  // namespace slipway::staging
