/// What commands show of the run of a workflow.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/output.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/pause_note.h"

namespace slipway::launcher {

/// A step and what has happened to it.
struct StepRow {
  StoredStep step;
  StepRecord record;
  bool removed = false;           ///< it has had a result, which is no longer in the store
  std::optional<RunPause> pause;  ///< of its own run, while that stands still
};
/// What the run of an experiment or ensemble waits for while it stands still. Errors: those of RunFolder::ReadState.
std::optional<RunPause> PauseOfStepRun(const std::filesystem::path& run_folder);

/// In the order of the workflow. Nothing runs or waits in a run that has ended, but in one that has lost its manager:
/// of what ran then, this looks whether it still runs. The reason of a step whose own run is paused says why.
/// Cost: for each step that runs, a look into its folder.
std::vector<StepRow> StepRowsOf(const RunFolder& folder, const WorkflowLook& look);
/// "3 done, 1 running of 4 steps"
std::string CountsText(const std::vector<StepRow>& rows);

/// `slipway.workflow/1`: the state of the run and of each step.
Json WorkflowDocument(const RunFolder& folder, const WorkflowLook& look);

/// Steps that are done, but whose result is no longer in the store.
std::vector<std::string> StepsWithRemovedResult(const RunFolder& folder);

/// Prints it: for people one line for each step, in groups where there are many.
void PrintWorkflow(const RunFolder& folder, const WorkflowLook& look, Output& output);

/// The text for people.
std::string DescribeWorkflow(const RunFolder& folder, const WorkflowLook& look);

}  // namespace slipway::launcher
