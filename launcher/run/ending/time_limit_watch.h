/// Warns of the end of a job early enough to save. Slurm's signal comes at a fixed time that the script set before the
/// checkpoint time was known. Where that is too late, this watch is in time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/units.h"
#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

class TimeLimitWatch {
 public:
  struct Questions {
    /// The time of the slowest checkpoint, if known.
    std::function<std::optional<Seconds>()> slowest_checkpoint;
    /// When the job ends, unless its limit is changed; nothing: unknown now.
    std::function<std::optional<WallTime>()> end;
  };

  /// Checks every `beat`. Calls `near` once, when only the time for saving is left. Not movable: the loop holds its
  /// address.
  TimeLimitWatch(EventLoop& loop, Clock& clock, Questions questions, std::function<void(Seconds slowest)> near,
                 std::chrono::nanoseconds beat = std::chrono::seconds(5));
  TimeLimitWatch(const TimeLimitWatch&) = delete;
  TimeLimitWatch& operator=(const TimeLimitWatch&) = delete;
  ~TimeLimitWatch();

 private:
  void LookLater();
  void Look();
  bool IsNear(Seconds lead) const;

  EventLoop& loop_;
  Clock& clock_;
  Questions questions_;
  std::function<void(Seconds)> near_;
  std::chrono::nanoseconds beat_;
  std::optional<WallTime> end_;  ///< the last known end
  std::optional<EventLoop::TimerId> timer_;
};

/// How long before the end of the job the ranks are asked to save: TimeToSave, and the time for the manager. Pure.
Seconds LeadFor(Seconds slowest_checkpoint);

/// Interrupts the run when only the time for saving is left in its job, according to `slowest_checkpoint`. The event
/// `time_limit_near` has the figures. Null when the run is in no job. `context` must outlive it.
std::unique_ptr<TimeLimitWatch> WatchEndOfJob(RunContext& context,
                                              std::function<std::optional<Seconds>()> slowest_checkpoint);

/// The time left in the run's job, from Slurm; nothing: the run is in no job, or the time is unknown. Cost: that of
/// EndOfJob.
std::optional<Seconds> TimeLeftInJob(const RunContext& context);

}  // namespace slipway::launcher
