/// The steps of a workflow as they are now: what their journals say, and where Slurm carries them out, its jobs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_news.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Whether the steps of the run are Slurm jobs.
bool HasStepJobs(const RunFolder& folder);

/// The job of a step, or its task of an array; no number: it was not submitted, or its submission was killed.
JobIdentity JobOfStep(const RunFolder& folder, const std::string& step);
/// What its job prints, beside the log of the step.
std::filesystem::path LogOfStepJob(const RunFolder& folder, const std::string& step);
/// Whether the submission of its job had begun when its record was written: Slurm may have a job of this comment.
bool HasBegunSubmission(const RunFolder& folder, const std::string& step);

struct ObservedSteps {
  std::map<std::string, StepRecord> records;  ///< of all steps
  std::map<std::string, SlurmJob> jobs;       ///< of those that Slurm remembers and that have not ended
  std::vector<std::string> unsubmitted;       ///< have no job yet
  std::string trouble;                        ///< why Slurm did not answer; empty: it did, or was not asked
};

/// Whom an observation asks.
struct SlurmView {
  SlurmClient slurm = SlurmClient();
  Clock& clock = SystemClock();
};

/// Of a run on this machine what its journal says. Cost: of a run with Slurm jobs that has not ended, a file for each
/// step and a request to the controller.
///
/// A job that ended by itself has left a record. It may not be visible here yet: for two minutes the step counts as
/// running. A step with a live job is blocked only by ends that are in a journal.
ObservedSteps ObserveSteps(const RunFolder& folder, const SlurmView& view = {});

/// A run and its steps, seen at one time.
struct WorkflowLook {
  RunState state;
  std::map<std::string, StepRecord> records;  ///< of all steps
};

/// When all steps of Slurm jobs have ended, the end is recorded in the run folder, once, and who records it sends the
/// notifications; a reader who may not write there only sees it.
/// Errors: SystemError when the folder cannot be read. Cost: as ObserveSteps; seconds while a notification is sent.
WorkflowLook LookAtWorkflow(const RunFolder& folder, const SlurmView& view = {});
/// The same for who only reads: nothing is recorded or sent.
WorkflowLook SeeWorkflow(const RunFolder& folder);
/// LookAtWorkflow where its steps may tell more than its state.
RunState ObserveWorkflow(const RunFolder& folder);

/// Who has it may open or end the run in its state. Waits: it is held for a moment only.
FileLock LockEnd(const RunFolder& folder);
/// Records the end of the run when the journals say that all steps have ended: for the job of a step, at its end.
/// Returns what this call has recorded, for the caller to send.
StepsNews RecordEndIfOver(const RunFolder& folder);
/// Records when the first step began.
void RecordStart(const RunFolder& folder);

}  // namespace slipway::launcher
