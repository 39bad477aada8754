/// Commands that carry a run out: `run`, `submit`, `resume`, and `manage`, which is what `submit` starts.
#pragma once

#include <string>

#include "launcher/cli/commands/plan.h"
#include "launcher/ranks/monitor/rank_line.h"

namespace slipway::launcher {

struct RunOptions {
  SpecSelection selection;
  LinePrefix prefix = LinePrefix::kRank;
};
/// To the end, in the foreground. Ctrl-C cancels it; where a batch job carries it out, after a question.
int Run(const RunOptions& options, Session& session);

/// Starts a manager that outlives the terminal and prints the run's id.
int Submit(const SpecSelection& selection, Session& session);

struct ResumeOptions {
  std::string run = "last";
  std::vector<std::string> overrides;  ///< KEY=VALUE, laid over the run's spec for good
  LinePrefix prefix = LinePrefix::kRank;
  bool trust = false;  ///< also a run that somebody else can have written
};
/// Continues a run that was cancelled, failed or lost: from its newest valid checkpoint, or, for an ensemble, from
/// its trial book. A run that succeeded is left alone, unless its spec changes or it is an ensemble whose time was used
/// up. Errors: as ReplanRun; Error(kBusy) when it has a manager: then nothing has changed.
int Resume(const ResumeOptions& options, Session& session);

struct ManageOptions {
  std::string folder;
};
/// Carries out the run prepared in `folder`, without a terminal; begins at the end of its standard input.
int Manage(const ManageOptions& options, Session& session);

}  // namespace slipway::launcher
