#include "launcher/cli/commands/plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "launcher/cli/commands/left_out.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/start_estimate.h"
#include "launcher/spec/project_settings.h"
#include "launcher/spec/secrets.h"
#include "launcher/workflow/is_workflow_file.h"

namespace slipway::launcher {
namespace {

/// Nothing when no job is submitted.
std::optional<JobStart> EstimateStartOf(const Plan& plan) {
  if (!IsSubmitted(plan)) return {};
  return EstimateStarts({SubmittedJob(plan)}).front();
}

std::string DescribeStart(const JobStart& start) {
  if (start.outlook == StartOutlook::kRefused) {
    return fmt::format("\nSlurm would refuse the job: {}\n  next: {}\n", start.reason, start.next_step);
  }
  if (start.outlook != StartOutlook::kEstimated) {
    return fmt::format("\nno estimate of the start: {}\n", start.reason);
  }
  return fmt::format("\nSlurm would start the job {}, on {} in partition {}\n", WhenInWords(start, SystemClock().Now()),
                     start.nodes, start.partition);
}

int PlanExperiment(const SpecSelection& selection, Session& session) {
  const auto plan = PlanFor(selection, session);
  auto document = ToJson(plan);
  document["spec"] = WithoutSecrets(document["spec"]);
  const auto start = EstimateStartOf(plan);
  document["start_estimate"] = start ? ToJson(*start) : Json();
  session.output.Print({document, DescribePlan(plan) + (start ? DescribeStart(*start) : ""), plan.spec().name});
  return start ? start->exit_code : 0;
}

}  // namespace

int ShowPlan(const SpecSelection& selection, const WorkflowOptions& workflow, Session& session) {
  const bool has_steps = IsWorkflowFile(selection.spec);
  if (!has_steps) RefuseWorkflowOptions(workflow, selection);
  const int code = has_steps ? PlanWorkflow(selection, workflow, session) : PlanExperiment(selection, session);
  if (code != 0 && session.output.mode() == OutputMode::kQuiet) {
    session.output.Warn("Slurm would refuse a job; without --quiet the plan says why");
  }
  return code;
}

Plan PlanFor(const SpecSelection& selection, Session& session) {
  auto document = LoadSpec(selection.spec, selection.overrides);
  for (const auto& warning : document.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  for (const auto& line : CodeFromProjectSettings(document)) session.output.Say(line);
  auto plan = MakePlan(std::move(document), session.runs_directory);
  for (const auto& dataset : plan.data) {
    WarnOfLeftOut(fmt::format("dataset '{}'", dataset.request.name), dataset.left_out, dataset.files.size(),
                  session.output);
  }
  return plan;
}

}  // namespace slipway::launcher
