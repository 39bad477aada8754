/// Commands that carry out a run: `run`, `submit`, `resume`, and `manage`, which `submit` starts.
#pragma once

#include <string>

#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/ranks/monitor/rank_log.h"

namespace slipway::launcher {

struct RunOptions {
  SpecSelection selection;
  WorkflowOptions workflow;
  LinePrefix prefix = LinePrefix::kRank;
};
/// Carries the run out in the foreground, to its end. Ctrl-C cancels it; for a run in a batch job it asks first.
int Run(const RunOptions& options, Session& session);

/// Starts a manager that outlives the terminal and prints the run's id.
int Submit(const SpecSelection& selection, const WorkflowOptions& workflow, Session& session);

struct ResumeOptions {
  std::string run = "last";
  std::vector<std::string> overrides;  ///< KEY=VALUE, laid over the run's spec for good
  LinePrefix prefix = LinePrefix::kRank;
  bool trust = false;  ///< also accept a run folder that another user could have written
  Seconds submit_for = kSubmitFor;
};
/// Continues a cancelled, failed or lost run from its newest valid checkpoint, or an ensemble from its trial book. A
/// run that succeeded is left alone, unless its spec changes or it is an ensemble that used up its time. Errors: as
/// ReplanRun; Error(kBusy) when it has a manager, or had one since this call began: then nothing has changed.
int Resume(const ResumeOptions& options, Session& session);

struct ManageOptions {
  std::string folder;
};
/// Carries out the run prepared in `folder`, without a terminal. Starts at the end of its standard input.
int Manage(const ManageOptions& options, Session& session);

}  // namespace slipway::launcher
