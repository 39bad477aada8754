#include "launcher/run/run_context.h"

namespace slipway::launcher {

void RunContext::RecordWatch(const WatchFinding& finding, Json where) const {
  if (!finding.report) {
    output.Warn(finding.problem);
    return;
  }
  where.update(ToJson(*finding.report));
  folder.AppendEvent("watch", where);
}

}  // namespace slipway::launcher
