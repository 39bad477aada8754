/// What a killed manager has left of its steps: programs, which end, and runs of experiments, which may go on.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "launcher/run/workflow/step_journal.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Ends the processes that the journal names and all that have SLIPWAY_STEP_DIR below the run folder in their
/// environment: a manager can be killed between the start of a program and its record. Steps that are experiments or
/// ensembles keep theirs: their runs have managers of their own (EndRunsOf). The caller holds the manager's lock.
/// Cost: a look at the environment of each process of this user.
void EndStepOrphans(const RunFolder& run, const std::map<std::string, StepRecord>& records, const Workflow& workflow);

/// Whether a manager carries the run out, on this or another host.
bool StillRuns(const RunFolder& run);
/// Ends the process that started a run for the step, and the managers of all runs of the step, with their ranks.
/// Returns those that go on, on other hosts.
std::vector<RunFolder> EndRunsOf(const std::filesystem::path& step_folder, const StepRecord& record);
/// Of these steps only, by SLIPWAY_STEP_DIR: RUN/steps/NAME -> its record. The caller holds their locks.
void EndOrphansOf(const std::map<std::filesystem::path, StepRecord>& steps);

}  // namespace slipway::launcher
