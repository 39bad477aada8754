/// The directories of the machine that the container of a run sees.
#pragma once

#include <vector>

#include "launcher/plan/training_command.h"
#include "launcher/ranks/local/container_command.h"

namespace slipway::launcher {

struct Plan;

/// The mounts of every run: its folder, its data, its tiers and Slipway; then the user's binds. `data`: the final
/// places of the datasets. Paths below /tmp and /dev are left out, because every runtime shows them. Pure.
std::vector<Mount> MountsFor(const Plan& plan, const StagedDirectories& data);

/// Checks that the image can have these mounts.
/// Errors: Error(kEnvironment) naming directories that the image lacks and its runtime cannot make; Error(kUsage) for a
/// path that cannot be bound.
void RequireMounts(const Plan& plan);

}  // namespace slipway::launcher
