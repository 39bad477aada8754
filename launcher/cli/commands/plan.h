/// `slipway plan`: what a run would stage, start and store. Starts and writes nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// A spec and what the command line changes in it; shared by plan, run and submit.
struct SpecSelection {
  std::filesystem::path spec;
  std::vector<std::string> overrides;  ///< KEY=VALUE
};

int ShowPlan(const SpecSelection& selection, Session& session);

}  // namespace slipway::launcher
