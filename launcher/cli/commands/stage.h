/// `slipway stage in|ls|verify|evict|gc`: datasets in the storage tiers of this node.
///
/// Tiers are those of the settings files, of the batch system and of the machine (KnownTiers); `tiers` narrows a
/// command to some of them, by name, alias or dir:PATH.
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
  std::string name;                    ///< of the dataset that the paths make
  std::string format;                  ///< of its files: tfrecord, hdf5, raw; empty: by their names
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
  std::string older_than;  ///< a duration: what nobody has used for so long
  std::vector<std::string> tiers;
  DryRun dry_run = DryRun::kNo;
};

struct StageGcOptions {
  std::string to_free;  ///< bytes, like 10GB; empty: leftovers only
  std::vector<std::string> tiers;
  DryRun dry_run = DryRun::kNo;
};

/// Stages and keeps what it staged (`slipway.stage_in/1`): it stays until it is evicted, also after runs that use it.
/// Ctrl-C ends it with Error(kInterrupted); what was not complete is not published.
int StageIn(const StageInOptions& options, Session& session);

/// Makes the key file for a group of nodes (`slipway.stage_key/1`). Errors: Error(kEnvironment) when the file is there.
int StageKey(const StageKeyOptions& options, Session& session);

/// What lies where, who uses it, what is free (`slipway.stage_ls/1`).
int StageLs(const StageLsOptions& options, Session& session);

/// Reads staged files again and compares them with their manifest (`slipway.stage_verify/1`). Returns 1 when one is
/// bad.
int StageVerify(const StageVerifyOptions& options, Session& session);

/// Removes generations (`slipway.stage_evict/1`). What is in use stays, with a warning that says by whom, and the
/// command returns 4.
int StageEvict(const StageEvictOptions& options, Session& session);

/// Removes what interrupted processes left behind, and with `to_free` generations that nobody uses, those last used
/// longest ago first (`slipway.stage_gc/1`). Returns 1 when less could be freed than was asked for.
int StageGc(const StageGcOptions& options, Session& session);

}  // namespace slipway::launcher
