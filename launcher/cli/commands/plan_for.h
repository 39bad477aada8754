/// From what the command line says to a plan.
#pragma once

#include "launcher/cli/commands/plan.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Says the spec's warnings, and which files of the data are left out. Errors: kUsage with every error of the spec;
/// what MakePlan throws.
Plan PlanFor(const SpecSelection& selection, Session& session);

}  // namespace slipway::launcher
