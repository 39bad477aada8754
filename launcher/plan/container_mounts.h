/// What of the machine is seen in the container of a run.
#pragma once

#include <vector>

#include "launcher/plan/training_command.h"
#include "launcher/ranks/local/container_command.h"

namespace slipway::launcher {

struct Plan;

/// What every run sees: its folder, its data, its tiers and Slipway; then what the user binds. `data` is where the
/// datasets lie in the end. Those of /tmp and /dev, which every runtime shows, are left out. Pure.
std::vector<Mount> MountsFor(const Plan& plan, const StagedDirectories& data);

/// Errors: Error(kEnvironment) naming the directories that the image lacks, where its runtime cannot make them;
/// Error(kUsage) for a path that cannot be bound.
void RequireMounts(const Plan& plan);

}  // namespace slipway::launcher
