/// Where Slurm's configuration lies on this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "core/environment.h"

namespace slipway::launcher {

/// SLURM_CONF, when it is set, there or not; else the first that exists of the usual places, the folder of the sbatch
/// on PATH, and what a node without files got from the controller. libslurm may know one more, built into it. Cost: a
/// few stat(2), so that a machine without Slurm is known at once: libslurm itself may take a minute to give up.
std::optional<std::filesystem::path> FindSlurmConf(const Environment& environment,
                                                   const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
