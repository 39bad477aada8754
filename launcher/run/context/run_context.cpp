#include "launcher/run/context/run_context.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "core/write_probe.h"
#include "launcher/attempt/attempt.h"
#include "launcher/notify/notifier.h"
#include "launcher/ranks/shim/ending.h"

namespace slipway::launcher {
namespace {

/// With less a trial would hardly come to its first report.
constexpr Bytes kSpaceOfATrial{shim::kLeastFreeBytes};

}  // namespace

void RunContext::SayWhatStops(std::string_view whom) const {
  if (interrupt.forced()) return output.Say(fmt::format("killing {}", whom));
  if (interrupt.count() > 1) return;
  if (interrupt.cause() == InterruptCause::kTimeLimit) {
    return output.Say(fmt::format("the job's time is nearly over: stopping {}", whom));
  }
  output.Say(fmt::format("cancelling: stopping {}, which takes up to {}; Ctrl-C again kills at once", whom,
                         FormatDuration(LongestStop(plan.spec()))));
}

std::string RunContext::WhyNoDiskSpace(ensemble::DiskSpaceCheck check) const {
  if (check == ensemble::DiskSpaceCheck::kGlance && !MayLackSpace(folder.path(), kSpaceOfATrial)) return {};
  const auto why = slipway::WhyNoDiskSpace(folder.path(), kSpaceOfATrial);
  return why.empty() ? why : fmt::format("{} in '{}'", why, folder.path().string());
}

void RunContext::Note(std::string_view event, const Json& more) const { NoteEvent(folder, output, event, more); }

void NoteEvent(const RunFolder& folder, Output& output, std::string_view event, const Json& more) try {
  folder.AppendEvent(event, more);
} catch (const SystemError& error) {
  output.Warn(fmt::format("the event '{}' is not recorded: {}", event, error.message()));
}

void RunContext::RecordWatch(const WatchFinding& finding, Json where) const {
  if (!finding.report) {
    output.Warn(finding.problem);
    return;
  }
  where.update(ToJson(*finding.report));
  Note("watch", where);
  if (notifier != nullptr && IsHang(finding.report->kind)) notifier->FoundHang(finding.report->message);
}

}  // namespace slipway::launcher
