/// Ends programs of steps that a killed manager has left.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "launcher/run/workflow/step_journal.h"

namespace slipway::launcher {

/// Ends the processes that the journal names and all that have SLIPWAY_STEP_DIR below the run folder in their
/// environment: a manager can be killed between the start of a program and its record. Runs of experiments are not
/// among them: they have managers of their own. The caller holds the manager's lock.
/// Cost: a look at the environment of each process of this user.
void EndStepOrphans(const std::filesystem::path& run_folder, const std::map<std::string, StepRecord>& records);
/// Of these steps only, by SLIPWAY_STEP_DIR: RUN/steps/NAME -> its record. The caller holds their locks.
void EndOrphansOf(const std::map<std::filesystem::path, StepRecord>& steps);

}  // namespace slipway::launcher
