/// Finds the module for the libslurm of this machine.
#pragma once

#include <filesystem>
#include <vector>

#include "launcher/cluster/module/answer.h"

namespace slipway::launcher {

/// Those of this installation, the newest libslurm first: lib/slipway/slurm/libslipway_slurm-38.so.
std::vector<std::filesystem::path> SlurmModules(const std::filesystem::path& folder);

/// The entry of the first module whose libslurm is here. Its symbols become everybody's: libslurm loads plugins that
/// need them.
/// Errors: SlurmError(kNotBuilt, kNoLibrary).
SlurmAnswerFunction LoadSlurmModule(const std::filesystem::path& folder);

}  // namespace slipway::launcher
