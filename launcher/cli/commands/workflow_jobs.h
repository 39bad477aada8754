/// Workflows whose steps are Slurm jobs: what `run`, `submit`, `resume` and `plan` do with them, and what runs in a
/// job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "launcher/cli/commands/session.h"
#include "launcher/cluster/batch_script.h"
#include "launcher/run/batch/start_estimate.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/workflow/step_jobs.h"

namespace slipway::launcher {

/// Makes the run and submits a job for each step that has no result. When nothing could be submitted, no run is left.
/// Waits up to `longest` while Slurm takes no more jobs; none: as long as it takes.
RunFolder SubmitNewSteps(const Workflow& workflow, const WorkflowOrder& order, std::optional<Seconds> longest,
                         Session& session);
/// Prints the id of the run and how to go on.
int SaySubmittedSteps(const RunFolder& folder, Session& session);
/// Prints what happens to the steps until the run ends; returns its outcome. Ctrl-C leaves the jobs as they are.
int FollowSteps(const RunFolder& folder, Session& session);

/// Whether a run that goes on does so with Slurm jobs. Errors: kUsage when its steps ran elsewhere until now.
bool AreJobsAgain(const RunFolder& folder, const Workflow& workflow);
/// Submits what has no result and no live job. `refused`: overrides that come too late, because jobs are live.
/// Errors: kBusy naming them.
int ResumeSteps(const RunFolder& folder, const FileLock& lock, const Workflow& workflow, const WorkflowOrder& order,
                const std::vector<std::string>& refused, Seconds longest, Session& session);

/// A job as `plan` shows it.
struct PlannedJob {
  StepJob steps;
  std::vector<std::string> names;  ///< of the steps
  BatchJob job;
  JobStart start = {};
};
/// "prepare, search and 3 more".
std::string NamesText(const std::vector<std::string>& names);

/// Of the steps that run. Asks Slurm when they would start. Errors: those of MakeStepJob. Cost: that of FactsOf.
std::vector<PlannedJob> PlanJobs(const Workflow& workflow, const ResultStore& store, const StepReuse& reuse,
                                 const Session& session);
/// Into `slipway.workflow.preview/1`.
void AddJobs(const std::vector<PlannedJob>& jobs, Json& document);
/// A table, a line for each, why some are for several steps, and what Slurm refuses; empty without jobs.
std::string DescribeJobs(const std::vector<PlannedJob>& jobs);
/// 0, or what a submission would exit with because Slurm refuses a job.
int ExitCodeOf(const std::vector<PlannedJob>& jobs);

struct StepJobOptions {
  std::string run;  ///< its folder
  std::vector<std::string> steps;
  bool array_task = false;  ///< `steps` is a foreach, and Slurm says which of its steps
  int first_index = 0;      ///< of the step that is task 0
};
/// `slipway workflow step`.
int CarryOutStep(const StepJobOptions& options, Session& session);

}  // namespace slipway::launcher
