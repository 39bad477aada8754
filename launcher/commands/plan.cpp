#include "launcher/commands/plan.h"

#include <nlohmann/json.hpp>

#include "launcher/plan/plan.h"

namespace slipway::launcher {

int ShowPlan(const SpecSelection& selection, Session& session) {
  auto document = LoadSpec(selection.spec, selection.overrides);
  for (const auto& warning : document.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  const auto plan = MakePlan(std::move(document), session.runs_directory);
  session.output.Print({ToJson(plan), DescribePlan(plan), plan.spec().name});
  return 0;
}

}  // namespace slipway::launcher
