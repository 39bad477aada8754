/// `slipway stage in|ls|verify|evict|gc`: datasets in the storage tiers of this node.
///
/// The known tiers come from the settings files, the batch system and the machine (KnownTiers). `tiers` selects some of
/// them by name, alias or dir:PATH.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

enum class DryRun { kNo, kYes };

struct StageInOptions {
  std::vector<std::string> sources;    ///< one spec (*.yaml, *.yml), or files, directories and patterns
  std::vector<std::string> overrides;  ///< KEY=VALUE for the spec
  std::vector<std::string> datasets;   ///< only these of the spec
  std::string name;                    ///< name of the dataset that the paths form
  std::string format;                  ///< a word of staging::DataFormat; empty: by their names
  std::vector<std::string> tiers;      ///< in order of preference, instead of the spec's or the site's
  std::string verify;                  ///< off, format, full; empty: the spec's, or format
  std::string bandwidth;               ///< bytes a second, like 500MB; empty: the spec's or the site's
  std::filesystem::path nodes_file;    ///< HOST:PORT of every node, one a line; empty: this node alone
  int node = -1;                       ///< this node's place in the list, from 0
  std::filesystem::path key_file;      ///< of the nodes' common key
  DryRun dry_run = DryRun::kNo;
};

struct StageKeyOptions {
  std::filesystem::path file;
};

struct StageLsOptions {
  std::vector<std::string> tiers;
};

struct StageVerifyOptions {
  std::vector<std::string> generations;  ///< names or directories; empty: all that are known
  std::vector<std::string> tiers;
};

struct StageEvictOptions {
  std::vector<std::string> generations;  ///< names or directories
  bool all = false;
  std::string older_than;  ///< a duration: not used for this long
  std::vector<std::string> tiers;
  DryRun dry_run = DryRun::kNo;
};

struct StageGcOptions {
  std::string to_free;  ///< bytes, like 10GB; empty: leftovers only
  std::vector<std::string> tiers;
  DryRun dry_run = DryRun::kNo;
};

/// Stages data and keeps it until it is evicted, even after runs that use it (`slipway.stage_in/1`). Ctrl-C ends it
/// with Error(kInterrupted); incomplete data is not published.
int StageIn(const StageInOptions& options, Session& session);

/// Makes the key file for a group of nodes (`slipway.stage_key/1`). Errors: Error(kEnvironment) when the file exists.
int StageKey(const StageKeyOptions& options, Session& session);

/// Lists the staged data, its users and the free space (`slipway.stage_ls/1`).
int StageLs(const StageLsOptions& options, Session& session);

/// Reads staged files again and compares them with their manifest (`slipway.stage_verify/1`). Returns 1 when one is
/// bad.
int StageVerify(const StageVerifyOptions& options, Session& session);

/// Removes generations (`slipway.stage_evict/1`). Generations in use stay: a warning names their users, and the command
/// returns 4.
int StageEvict(const StageEvictOptions& options, Session& session);

/// Removes leftovers of interrupted processes (`slipway.stage_gc/1`). With `to_free` it also removes unused
/// generations, the longest unused first. Returns 1 when it freed less than requested.
int StageGc(const StageGcOptions& options, Session& session);

}  // namespace slipway::launcher
