#include "launcher/cli/commands/plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launcher/cli/commands/left_out.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/spec/project_settings.h"
#include "launcher/spec/secrets.h"
#include "launcher/workflow/is_workflow_file.h"

namespace slipway::launcher {

int ShowPlan(const SpecSelection& selection, const WorkflowOptions& workflow, Session& session) {
  if (IsWorkflowFile(selection.spec)) return PlanWorkflow(selection, workflow, session);
  RefuseWorkflowOptions(workflow, selection);
  const auto plan = PlanFor(selection, session);
  auto document = ToJson(plan);
  document["spec"] = WithoutSecrets(document["spec"]);
  session.output.Print({document, DescribePlan(plan), plan.spec().name});
  return 0;
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
