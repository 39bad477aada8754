/// The clock of a study: time differences stay right when the wall clock is set.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace slipway::ensemble {

/// One moment by the study clock and by the boot-time clock. Stored with each session.
struct ClockReading {
  double time = 0;        ///< seconds since 1970
  std::string boot_id;    ///< of the machine; empty: not read
  double since_boot = 0;  ///< seconds
};

/// Starts at the wall clock and advances with the boot-time clock (Clock::Steady). The boot-time clock also counts
/// while the machine sleeps, and cannot be set.
/// A session goes on from the reading of the session before if attempts of that one are open. On another machine or
/// after a reboot it starts at the wall clock.
class StudyClock final : public Clock {
 public:
  /// `before`: the reading of the session before; nothing: start at the wall clock.
  explicit StudyClock(Clock& clock, const std::optional<ClockReading>& before = std::nullopt);

  WallTime Now() override;
  SteadyTime Steady() override { return clock_.Steady(); }
  void Sleep(std::chrono::nanoseconds duration) override { clock_.Sleep(duration); }

  ClockReading Reading();
  /// Converts a present or past time of the wall clock, as programs, files and batch systems have it, to study time.
  /// The result is never in the future: clocks of hosts differ.
  double OfDay(double time);

 private:
  Clock& clock_;
  WallTime begun_;
  SteadyTime steady_;  // then
};

}  // namespace slipway::ensemble
