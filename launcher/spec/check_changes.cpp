#include <nlohmann/json.hpp>

#include "launcher/spec/changes.h"
#include "launcher/spec/checks.h"

namespace slipway::launcher {

void CheckChanges(const Json& before, RunKind kind, Report& report, const Draft& draft) {
  if (!draft.failed.empty()) return;  // a wrong value is no change yet
  for (const auto& change : ChangesBetween(before, draft.values())) {
    if (const auto why = WhyFixed(change.key, kind)) report.Error(draft.PlaceOf(change.key), *why);
  }
}

}  // namespace slipway::launcher
