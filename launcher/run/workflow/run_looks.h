/// Runs of every kind, for those who look at them again and again. What Slurm carries out changes without a change in
/// the run folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "launcher/run/batch/batch_observation.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// How often Slurm is asked about a run whose files stay as they are.
inline constexpr auto kAskSlurmEvery = std::chrono::seconds(10);

/// ObserveRows, also for workflows whose steps are Slurm jobs: their end may not be recorded yet.
/// Cost: as ObserveRows, and ObserveWorkflow for each such workflow that has not ended.
std::vector<RunRow> ObserveAllRows(const std::vector<RunFolder>& folders);

/// True when Slurm carries out the run, or its steps.
bool IsCarriedOutBySlurm(const RunFolder& folder, const RunState& state);

/// The files whose change changes the run of a workflow or its steps. Steps that are Slurm jobs have a journal each.
std::vector<std::filesystem::path> FilesOfWorkflowRun(const RunFolder& folder);

}  // namespace slipway::launcher
