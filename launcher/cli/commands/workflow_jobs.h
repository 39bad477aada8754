/// Workflows whose steps are Slurm jobs: what `run`, `submit`, `resume` and `plan` do with them, and what runs in a
/// job.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"
#include "launcher/cluster/batch_script.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/workflow/step_jobs.h"

namespace slipway::launcher {

/// Makes the run and submits a job for each step that has no result. When nothing could be submitted, no run is left.
RunFolder SubmitNewSteps(const Workflow& workflow, const WorkflowOrder& order, Session& session);
/// Prints the id of the run and how to go on.
int SaySubmittedSteps(const RunFolder& folder, Session& session);
/// Prints what happens to the steps until the run ends; returns its outcome. Ctrl-C leaves the jobs as they are.
int FollowSteps(const RunFolder& folder, Session& session);

/// Whether a run that goes on does so with Slurm jobs. Errors: kUsage when its steps ran elsewhere until now.
bool AreJobsAgain(const RunFolder& folder, const Workflow& workflow);
/// Submits what has no result and no live job. `refused`: overrides that come too late, because jobs are live.
/// Errors: kBusy naming them.
int ResumeSteps(const RunFolder& folder, const FileLock& lock, const Workflow& workflow, const WorkflowOrder& order,
                const std::vector<std::string>& refused, Session& session);

/// A job as `plan` shows it.
struct PlannedJob {
  StepJob steps;
  std::vector<std::string> names;  ///< of the steps
  BatchJob job;
};
/// Of the steps that run. Errors: those of MakeStepJob. Cost: that of FactsOf.
std::vector<PlannedJob> PlanJobs(const Workflow& workflow, const ResultStore& store, const StepReuse& reuse,
                                 const Session& session);
/// Into `slipway.workflow.preview/1`.
void AddJobs(const std::vector<PlannedJob>& jobs, Json& document);
/// A table, a line for each, and why some are for several steps; empty without jobs.
std::string DescribeJobs(const std::vector<PlannedJob>& jobs);

struct StepJobOptions {
  std::string run;  ///< its folder
  std::vector<std::string> steps;
  bool array_task = false;  ///< `steps` is a foreach, and Slurm says which of its steps
};
/// `slipway workflow step`.
int CarryOutStep(const StepJobOptions& options, Session& session);

}  // namespace slipway::launcher
