/// Finds Slurm's configuration on this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "core/environment.h"

namespace slipway::launcher {

/// The path in SLURM_CONF, if it is set, even when there is no such file. Else the first file that exists: in the usual
/// places, in the cache of files from the controller, or beside the sbatch on PATH. libslurm may know one more place,
/// built into it. Cost: a few stat(2). This detects a machine without Slurm at once, while libslurm may take a minute.
std::optional<std::filesystem::path> FindSlurmConf(const Environment& environment,
                                                   const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
