/// A run folder with everything its manager needs, and the way back from the folder to the plan.
#pragma once

#include "launcher/plan/plan.h"
#include "launcher/run/run_folder.h"

namespace slipway::launcher {

/// Makes the run folder: spec.yaml as given, plan.json as resolved, state `created`.
RunFolder PrepareRun(const Plan& plan);

/// The resolved spec in the plan.json of a folder.
/// Errors: Error(kEnvironment) when it is missing or damaged.
SpecDocument StoredSpec(const RunFolder& folder);

/// Plans the run of a folder anew, from the resolved spec in its plan.json: data and tiers may have changed since.
/// Errors: those of StoredSpec, what MakePlan throws.
Plan ReplanRun(const RunFolder& folder);

/// Says why the run, planned anew, will not have the bits that it began with; empty when it will.
std::string RemarkOnBits(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
