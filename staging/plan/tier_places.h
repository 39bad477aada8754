/// Where tiers are: from their names, the environment, and what a site defines.
///
/// Names of tiers:
/// - `ram`: /dev/shm
/// - `node`: $TMPDIR or /tmp
/// - `burst`: what FindBurstBuffers finds first; `burst:NAME`: that buffer
/// - `dir:PATH`, and `none` (read in place)
/// - names that a site defines: its own, or new places for `ram`, `node` and `burst`
///
/// $SLIPWAY_TIER_RAM, _NODE and _BURST come before all of these.
///
/// Root: a SLIPWAY_TIER_ variable and `dir:` name the root itself. Exception: a directory that several users share
///       (sticky, like /tmp, or owned by the administrator). There, and in all other cases, the root is slipway-<uid>
///       in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "core/words.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

enum class TierKind {
  kDisk,
  kRam,   ///< counts as memory, whatever its file system says
  kBurst  ///< DataWarp and its kin
};
WordTable<TierKind> WordsOf(TierKind);

/// A tier as a site describes it.
struct TierDefinition {
  std::string name;
  /// Absolute; `${NAME}` and `$NAME` stand for variables of the environment. Empty: the built-in place of `name`.
  std::string path;
  TierKind kind = TierKind::kDisk;
  std::optional<TierScope> scope;  ///< nothing: the built-in one, else what the kind and the file system suggest
  std::optional<Bytes> capacity;   ///< the most that all generations there may take
  Bytes bandwidth = {};            ///< most bytes a second; 0: no limit
  std::string origin;              ///< where it is defined: "/etc/slipway/site.yaml:5"
};

struct TierPlace {
  std::filesystem::path root;
  std::string missing;  ///< why there is no root
  TierScope scope = TierScope::kNode;
  std::string origin = "built in";
};

/// The place of a tier. The user's environment comes before the site, and the site before built-in places. Looks at the
/// kind of the file system, nothing else. `site` may be null.
/// Errors: Error(kUsage) for a name that is none of the above.
TierPlace PlaceOf(const std::string& name, const TierDefinition* site);

/// The names of all tiers of this machine: those that `site` defines first, then the buffers of the batch system, node,
/// ram.
std::vector<std::string> KnownTiers(const std::vector<TierDefinition>& site);

/// The path itself or the first directory above it that is there.
std::filesystem::path NearestExisting(std::filesystem::path path);

/// True where other nodes see the same files: Lustre, GPFS, NFS, BeeGFS, Ceph and the like.
bool LivesOnNetwork(const std::filesystem::path& path);

}  // namespace slipway::staging
