#include "launcher/cli/commands/plan_for.h"

#include <fmt/format.h>

#include "launcher/cli/commands/left_out.h"
#include "launcher/spec/project_settings.h"

namespace slipway::launcher {

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
