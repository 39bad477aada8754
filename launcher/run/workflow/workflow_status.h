/// What commands show of the run of a workflow.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// `slipway.workflow/1`: the state of the run and of each step.
Json WorkflowDocument(const RunFolder& folder, const RunState& state);

/// Steps that are done, but whose result is no longer in the store.
std::vector<std::string> StepsWithRemovedResult(const RunFolder& folder);

/// Prints it: for people one line for each step, in groups where there are many.
void PrintWorkflow(const RunFolder& folder, const RunState& state, Output& output);

/// The text for people.
std::string DescribeWorkflow(const RunFolder& folder, const RunState& state);

}  // namespace slipway::launcher
