#include "launcher/cli/commands/plan.h"

#include <nlohmann/json.hpp>

#include "launcher/cli/commands/plan_for.h"

namespace slipway::launcher {

int ShowPlan(const SpecSelection& selection, Session& session) {
  const auto plan = PlanFor(selection, session);
  session.output.Print({ToJson(plan), DescribePlan(plan), plan.spec().name});
  return 0;
}

}  // namespace slipway::launcher
