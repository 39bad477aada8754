/// The helper process that reads git repositories: provenance/helper/slipway_git.cpp.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace slipway::launcher {

/// The members of its answer, together. `not_recorded` says why some may be missing: it is not installed, or git has
/// failed or taken too long. Cost: starts a process, 10 ms in a small repository; 10 s at most.
Json AskGit(std::vector<std::string> words);

}  // namespace slipway::launcher
