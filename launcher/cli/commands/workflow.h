/// Commands for workflows: what `run`, `submit`, `plan`, `validate`, `status`, `resume` and `explain` do with a file
/// that has `steps`, and with its runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/interrupt.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/session.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// How long a submission tries while Slurm takes no more jobs.
inline constexpr Seconds kSubmitFor = std::chrono::minutes(10);

/// Options of `run`, `submit` and `plan` that only workflows have.
struct WorkflowOptions {
  std::vector<std::string> forced;  ///< steps that run although they have a result
  std::filesystem::path svg;        ///< of `plan`: write the picture there
  Seconds submit_for = kSubmitFor;  ///< how long to try while Slurm takes no more jobs
};

/// Errors: kUsage when options are given that only a workflow has.
void RefuseWorkflowOptions(const WorkflowOptions& options, const SpecSelection& selection);

int RunWorkflow(const SpecSelection& selection, const WorkflowOptions& options, Session& session);
/// Makes the run; the caller starts its manager. `held`: as of MakeRun; stays empty where the steps are jobs.
RunFolder PrepareWorkflow(const SpecSelection& selection, const WorkflowOptions& options,
                          std::optional<HeldInterrupts>& held, Session& session);
int PlanWorkflow(const SpecSelection& selection, const WorkflowOptions& options, Session& session);
int ValidateWorkflow(const SpecSelection& selection, Session& session);

/// `ended`: the state that a wait for its end returned. Of a manager on another host it may know more than a new look.
int ShowWorkflow(const RunFolder& folder, Session& session, const std::optional<RunState>& ended = {});
int ExplainWorkflow(const RunFolder& folder, Session& session);
/// Also carries out a run that was prepared.
int ResumeWorkflow(const RunFolder& folder, const std::vector<std::string>& overrides, Seconds submit_for,
                   Session& session);

struct WhyOptions {
  std::string run;
  std::string step;
};
/// `slipway workflow why`: what in the key of a step has changed since its last result. JSON: `slipway.workflow.why/1`.
int ShowWhy(const WhyOptions& options, Session& session);

struct WorkflowGcOptions {
  std::string older_than;   ///< a duration; empty: any age
  bool ended_runs = false;  ///< also results of runs that have ended
  bool dry_run = false;
};
/// `slipway workflow gc`: removes results that nothing uses. JSON: `slipway.workflow.gc/1`.
int WorkflowGc(const WorkflowGcOptions& options, Session& session);

}  // namespace slipway::launcher
