/// The time of a study: differences of its times are right although somebody sets the clock of the day.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace slipway::ensemble {

/// The time of a study at a moment, and that moment by the boot-time clock. Stored with each session.
struct ClockReading {
  double time = 0;        ///< seconds since 1970
  std::string boot_id;    ///< of the machine; empty: none was looked at
  double since_boot = 0;  ///< seconds
};

/// Begins with the clock of the day and goes on with the boot-time clock (Clock::Steady), which counts while the
/// machine sleeps and which nobody sets. Every session of a study that begins while attempts of an earlier one are open
/// goes on from that one's reading, unless the machine was booted since, or it is another one: then it begins anew.
class StudyClock final : public Clock {
 public:
  /// `before`: what the present time follows from; nothing: the clock of the day.
  explicit StudyClock(Clock& clock, const std::optional<ClockReading>& before = std::nullopt);

  WallTime Now() override;
  SteadyTime Steady() override { return clock_.Steady(); }
  void Sleep(std::chrono::nanoseconds duration) override { clock_.Sleep(duration); }

  ClockReading Reading();
  /// A time that the clock of the day has given just now or earlier to a program, a file or a batch system, as a time
  /// of the study. Never in the future: clocks differ between hosts.
  double OfDay(double time);

 private:
  Clock& clock_;
  WallTime begun_;
  SteadyTime steady_;  // then
};

}  // namespace slipway::ensemble
