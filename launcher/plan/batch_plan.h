/// From a plan to the job that Slurm is asked for. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The job that manages the run in `folder`: RenderBatchScript of it is its job.sh.
/// Errors: Error(kUsage) when a burst buffer would have to be as large as nobody knows.
BatchJob MakeBatchJob(const Plan& plan, const std::filesystem::path& folder);

/// A file that must lie beside the script before it is submitted.
struct StageList {
  std::filesystem::path path;
  std::string content;
};

/// The lists of files that the job's directives name.
std::vector<StageList> StageLists(const Plan& plan, const std::filesystem::path& folder);

/// Whether a directive of the job's script stages it before the job begins.
bool IsStagedByDirective(const Plan& plan, const staging::StagingPlan& dataset);

/// The comment of the job of a run or trial, by which it is found again.
std::string JobComment(const std::filesystem::path& folder);

}  // namespace slipway::launcher
