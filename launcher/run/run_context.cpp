#include "launcher/run/run_context.h"

#include <fmt/format.h>

#include "core/units.h"
#include "launcher/run/ranks/job.h"

namespace slipway::launcher {

void RunContext::SayWhatStops(std::string_view whom) const {
  if (interrupt.forced()) return output.Say(fmt::format("killing {}", whom));
  if (interrupt.count() > 1) return;
  if (interrupt.cause() == InterruptCause::kTimeLimit) {
    return output.Say(fmt::format("the job's time is nearly over: stopping {}", whom));
  }
  output.Say(fmt::format("cancelling: stopping {}, which takes up to {}; Ctrl-C again kills at once", whom,
                         FormatDuration(LongestStop(plan.spec()))));
}

void RunContext::RecordWatch(const WatchFinding& finding, Json where) const {
  if (!finding.report) {
    output.Warn(finding.problem);
    return;
  }
  where.update(ToJson(*finding.report));
  folder.AppendEvent("watch", where);
}

}  // namespace slipway::launcher
