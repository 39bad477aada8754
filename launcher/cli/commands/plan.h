/// `slipway plan`: what a run would stage, start and store. Starts and writes nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// A spec and what the command line changes in it; shared by plan, run and submit.
struct SpecSelection {
  std::filesystem::path spec;
  std::vector<std::string> overrides;  ///< KEY=VALUE
};

int ShowPlan(const SpecSelection& selection, Session& session);

// From what the command line says to a plan.

/// Says the spec's warnings, and which files of the data are left out. Errors: kUsage with every error of the spec;
/// what MakePlan throws.
Plan PlanFor(const SpecSelection& selection, Session& session);

}  // namespace slipway::launcher
