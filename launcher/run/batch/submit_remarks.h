/// What may keep a job from beginning, as far as that shows on the host where it is submitted.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Modules that cannot be loaded, and a place for run folders that the nodes cannot see. They are not refused: the
/// nodes may have other modules than this host. Cost: loads the modules, if the plan has any.
std::vector<std::string> RemarksOnSubmission(const Plan& plan);

/// Why the nodes of a cluster do not see what is in `directory`; empty: they may. Pure but for statfs(2).
std::string WhyNodesCannotSee(const std::filesystem::path& directory);

}  // namespace slipway::launcher
