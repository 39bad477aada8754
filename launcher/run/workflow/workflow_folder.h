/// The run folder of a workflow: a run folder (run_folder.h) with steps in it.
///
///   workflow.yaml     the file, as it was
///   workflow.json     slipway.workflow.plan/1: its steps, and where the file lies
///   workflow.jsonl    what has happened to the steps
///   steps/NAME/       log, result (a link into the store), the run folder of an experiment
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/run_folder/run_folder.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// How a run of a workflow was started.
struct WorkflowOrder {
  std::filesystem::path file;          ///< absolute
  std::vector<std::string> overrides;  ///< KEY=VALUE
  std::vector<std::string> forced;     ///< steps that run although they have a result
};

/// A step as the folder knows it without its file.
struct StoredStep {
  std::string name;
  std::string kind;
  std::vector<std::string> needs;
  std::string description;
  int cpus = 1;  ///< of a program; those of an experiment are in its own run folder
  int gpus = 0;
};

struct StoredWorkflow {
  WorkflowOrder order;
  std::vector<StoredStep> steps;
};

bool IsWorkflowRun(const RunFolder& folder);
/// Makes a folder. Errors: SystemError.
RunFolder PrepareWorkflowRun(const std::filesystem::path& runs_directory, const Workflow& workflow,
                             const WorkflowOrder& order);
/// Writes what the folder knows of the workflow, again when its file has changed.
void StoreWorkflow(const RunFolder& folder, const Workflow& workflow, const WorkflowOrder& order);
/// Errors: Error(kEnvironment) when the document is damaged.
StoredWorkflow ReadStoredWorkflow(const RunFolder& folder);
/// Reads the file of a run as it is now. Errors: those of ReadWorkflow; kUsage when the file is gone, naming the copy.
Workflow ReadWorkflowOf(const WorkflowOrder& order, const RunFolder& folder);

std::filesystem::path StepFolder(const RunFolder& folder, const std::string& step);
/// For people: `result` in the step's folder leads to a published result. It does without where it cannot be made.
void LinkResult(const RunFolder& folder, const std::string& step, const std::string& id);

}  // namespace slipway::launcher
