/// The Slurm job of a step of a workflow.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/cluster/batch_script.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Who finds the job by it: "slipway:RUN/STEP".
std::string CommentOfStep(const std::filesystem::path& run_folder, const std::string& step);

/// The job that carries the step out in the folder of its run, which need not exist. RenderBatchScript of it is the
/// step's job.sh. `dependency` is Slurm's: "afterok:12:13", or empty; a job whose dependency can never hold is removed.
/// Errors: those of LoadSpec and MakePlan, with the name of the step; kUsage when the size of its burst buffer is not
/// known.
BatchJob MakeStepJob(const Workflow& workflow, StepIndex step, const std::filesystem::path& run_folder,
                     const std::string& dependency);

/// Whether the steps of the workflow are to be Slurm jobs. Inside an allocation they are not: it is used.
/// Errors: kUsage when some steps are, and others have engine local.
bool StepsAreJobs(const Workflow& workflow);

}  // namespace slipway::launcher
