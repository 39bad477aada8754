#include "ensemble/model/study_clock.h"

#include <algorithm>
#include <cmath>

#include "core/boot_id.h"
#include "core/parse_utc.h"

namespace slipway::ensemble {
namespace {

/// Smallest difference that counts as a step of the wall clock. The two clocks are not read at the same moment.
constexpr double kSmallestStep = 0.5;  // seconds

double SinceBoot(SteadyTime steady) { return std::chrono::duration<double>(steady.time_since_epoch()).count(); }

}  // namespace

StudyClock::StudyClock(Clock& clock, const std::optional<ClockReading>& before)
    : clock_(clock), begun_(clock.Now()), steady_(clock.Steady()) {
  if (!before || before->boot_id != BootId()) return;
  const double passed = SinceBoot(steady_) - before->since_boot;
  if (passed >= 0) begun_ = WallTimeAt(before->time + passed);
}

WallTime StudyClock::Now() {
  return begun_ + std::chrono::duration_cast<WallTime::duration>(clock_.Steady() - steady_);
}

ClockReading StudyClock::Reading() { return {UnixSeconds(Now()), BootId(), SinceBoot(clock_.Steady())}; }

double StudyClock::OfDay(double time) {
  const double ahead = std::chrono::duration<double>(clock_.Now() - Now()).count();
  const bool was_set = std::abs(ahead) >= kSmallestStep;
  return std::min(was_set ? time - ahead : time, UnixSeconds(Now()));
}

}  // namespace slipway::ensemble
