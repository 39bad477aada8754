#include "launcher/commands/plan_for.h"

#include "launcher/spec/project_settings.h"

namespace slipway::launcher {

Plan PlanFor(const SpecSelection& selection, Session& session) {
  auto document = LoadSpec(selection.spec, selection.overrides);
  for (const auto& warning : document.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  for (const auto& line : CodeFromProjectSettings(document)) session.output.Say(line);
  return MakePlan(std::move(document), session.runs_directory);
}

}  // namespace slipway::launcher
