/// Remarks on what may keep a job from starting, as far as the submitting host can see.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Remarks on modules that cannot be loaded, and on run folders that the nodes cannot see. They are no errors: the
/// nodes may have other modules than this host. Cost: loads the modules, if the plan has any.
std::vector<std::string> RemarksOnSubmission(const Plan& plan);

/// Why the nodes of a cluster cannot see files in `directory`; empty: they may. Pure but for statfs(2).
std::string WhyNodesCannotSee(const std::filesystem::path& directory);

}  // namespace slipway::launcher
