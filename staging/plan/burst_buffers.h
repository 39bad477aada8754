/// Burst buffers that the batch system has mounted for this job: found by the variables that it sets.
///
/// Names: DataWarp (Slurm's datawarp plugin): DW_JOB_STRIPED, DW_JOB_PRIVATE, DW_PERSISTENT_STRIPED_<name>. Slurm's lua
/// plugin: what the site's script chooses, BB_JOB_STRIPED, BB_JOB_PRIVATE or BB_<name>. HPE Rabbit (DWS):
/// DW_JOB_<name>, DW_PERSISTENT_<name>, where '-' in a name became '_'. The *_CACHE ones of DataWarp are a cache in
/// front of the parallel file system and no place for files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/plan/plan.h"

namespace slipway::staging {

struct BurstBuffer {
  std::string variable;  ///< "DW_JOB_STRIPED"
  std::string path;
  /// The part after "burst:" in a tier's name: "striped", "private", or the name given to it.
  std::string name;
  /// Striped buffers are the job's, private ones each node's. Nothing where only the file system can say.
  std::optional<TierScope> scope;
  int rank = 0;  ///< 0 striped and 1 private of this job, 2 named ones of this job, 3 persistent ones
};

/// The burst buffers that `environment` ("NAME=value" each) offers. They stand in the order in which tier `burst`
/// prefers them: striped ones of the job, private ones, then the others by name. Pure.
std::vector<BurstBuffer> FindBurstBuffers(const std::vector<std::string>& environment);

/// The buffer that `name` (after "burst:") means; the first when several have it.
std::optional<BurstBuffer> FindBurstBuffer(const std::vector<BurstBuffer>& buffers, std::string_view name);

/// The environment of this process.
std::vector<std::string> OwnEnvironment();

}  // namespace slipway::staging
