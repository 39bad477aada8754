/// `slipway plan`: what a run would stage, start and store. Starts and writes nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// A spec and its overrides on the command line; shared by plan, run and submit.
struct SpecSelection {
  std::filesystem::path spec;
  std::vector<std::string> overrides;  ///< KEY=VALUE
};

struct WorkflowOptions;
int ShowPlan(const SpecSelection& selection, const WorkflowOptions& workflow, Session& session);

// From the command line to a plan.

/// Makes a plan from the command line. Prints the spec's warnings and the data files that are left out. Errors: kUsage
/// with every error of the spec; what MakePlan throws.
Plan PlanFor(const SpecSelection& selection, Session& session);

}  // namespace slipway::launcher
