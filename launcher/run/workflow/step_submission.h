/// Submits the steps of a workflow to Slurm, with their dependencies: a job each, or several in an array or one job.
#pragma once

#include "core/files.h"
#include "core/output.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/run/workflow/job_room.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {

/// Checks that Slurm can take the jobs. Returns what RequireAPartition doubts of the first job with doubts, and how
/// many other jobs have some; empty: none has. Errors: those of MakeStepJob; kUsage when no partition can take a job;
/// SlurmError. Cost: some requests to the controller.
std::string RequireStepJobs(const Workflow& workflow, const std::filesystem::path& runs_directory,
                            const SlurmClientOptions& options = {});

struct SubmittedSteps {
  int jobs = 0;       ///< of this call; an array is one
  int submitted = 0;  ///< steps of these jobs
  int kept = 0;       ///< steps whose jobs were in the queue before, or run
  int settled = 0;    ///< steps that need no job: done, reused or skipped
};

/// Submits what has no result and no live job, each step after those that it needs. May be called again after it was
/// killed at any moment: a step never has two live jobs. `lock` is RunFolder::TakeManagerLock().
///
/// Result: each job starts when those of its needs are over (DependencyOf), and is removed when none of its steps can
/// run any more.
/// Cost:   waits while Slurm takes no more jobs, once it has taken one of the run.
/// Errors: SlurmError; SubmissionInDoubt; kInterrupted. The jobs that were submitted before stay.
SubmittedSteps SubmitSteps(const RunFolder& folder, const FileLock& lock, const Workflow& workflow,
                           const WorkflowOrder& order, const Patience& patience);

/// The workflow as its live jobs know it; nothing when it has none. Then its file counts.
std::optional<Workflow> SubmittedWorkflow(const RunFolder& folder);

/// Ends all jobs of the run: those that wait are removed, those that run are ended in order. Works without a manager.
/// Errors: SlurmError.
void CancelSteps(const RunFolder& folder);

}  // namespace slipway::launcher
