/// The Slurm job of a plan. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The job that manages the run in `folder`. RenderBatchScript of it is the run's job.sh.
/// Errors: Error(kUsage) when the size of a burst buffer is needed but unknown.
BatchJob MakeBatchJob(const Plan& plan, const std::filesystem::path& folder);

/// The first job that a run of the plan submits, for display: its own, or that of its first trial.
BatchJob SubmittedJob(const Plan& plan);

/// A file that must exist beside the script before its submission.
struct StageList {
  std::filesystem::path path;
  std::string content;
};

/// The lists of files that the job's directives name.
std::vector<StageList> StageLists(const Plan& plan, const std::filesystem::path& folder);

/// Whether a directive of the job's script stages the dataset before the job begins.
bool IsStagedByDirective(const Plan& plan, const staging::StagingPlan& dataset);

/// The comment of a run's or trial's job, used to find the job again.
std::string JobComment(const std::filesystem::path& folder);

}  // namespace slipway::launcher
