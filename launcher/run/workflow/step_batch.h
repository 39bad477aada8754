/// The Slurm jobs of the steps of a workflow.
#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"
#include "launcher/cluster/batch_script.h"
#include "launcher/workflow/step_jobs.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Who finds the job of a single step by it: "slipway:RUN/STEP".
std::string CommentOfStep(const std::filesystem::path& run_folder, const std::string& step);
/// Of an array or a packed job: "slipway:RUN/jobs/STEP-SUBMISSION" with its first step. A submission makes one such job
/// of a step, so that a job of an earlier one is not taken for it.
std::string CommentOfJob(const Workflow& workflow, const StepJob& job, const std::filesystem::path& run_folder,
                         int submission);
/// Where a job with this comment starts, and has its job.sh and job.log.
std::filesystem::path FolderOfJob(const std::filesystem::path& run_folder, const std::string& comment);

/// The job that carries the steps out in the folder of their run, which need not exist. RenderBatchScript of it is
/// job.sh. `submission`: how often steps of the run were submitted, this time included. `dependency` is Slurm's:
/// "afterok:12:13", or empty; a job whose dependency can never hold is removed.
/// Errors: those of LoadSpec and MakePlan, with the name of the step; kUsage when the size of its burst buffer is not
/// known.
BatchJob MakeStepJob(const Workflow& workflow, const StepJob& job, const std::filesystem::path& run_folder,
                     int submission, const std::string& dependency);

/// Some steps of a workflow are to be Slurm jobs, and others to run on this machine.
class StepsInTwoPlaces : public Error {
 public:
  using Error::Error;
};

/// Whether the steps of the workflow are to be Slurm jobs. Inside an allocation they are not: it is used. What the
/// engine `auto` means depends on this machine.
/// Errors: StepsInTwoPlaces; those of RequireOneEngine also inside an allocation.
bool StepsAreJobs(const Workflow& workflow);

/// The same on every machine: steps with the engine `auto` do not count. Pure.
/// Errors: StepsInTwoPlaces when a step names the engine local, and another one slurm.
void RequireOneEngine(const Workflow& workflow);

}  // namespace slipway::launcher
