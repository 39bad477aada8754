/// The run that a command names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launcher/cli/commands/session.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// A step of the run of a workflow: "RUN/step", where RUN may be a path.
struct StepOfRun {
  RunFolder run;
  std::string step;
};

/// Nothing when the selector names a folder, or no run of a workflow. A step that is an experiment or ensemble, and has
/// begun, is no StepOfRun: it is a run, which FindRun finds.
std::optional<StepOfRun> FindStep(const Session& session, const std::string& selector);

/// FindRun for commands that need one experiment. Errors: also kUsage for the run of a workflow.
RunFolder FindExperiment(const Session& session, const std::string& selector);

/// FindRun for commands that need a workflow. Errors: also kUsage for any other run.
RunFolder FindWorkflow(const Session& session, const std::string& selector);

/// An error that names the nearest of `names`.
Error NoSuchStep(const std::string& step, const std::vector<std::string>& names);

/// Also finds the run of a step: "RUN/step". Warns for each run that `last` skips.
/// Errors: those of the FindRun of run folders; kUsage for a step that is not there or has no run.
RunFolder FindRun(const Session& session, const std::string& selector);

}  // namespace slipway::launcher
