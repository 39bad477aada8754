/// Slurm's signal ahead of a job's end comes as early as its script says, which was written before anybody knew how
/// long a checkpoint takes. Where that is too late, this is in time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/units.h"

namespace slipway::launcher {

class TimeLimitWatch {
 public:
  struct Questions {
    /// How long a checkpoint takes, as far as that is known.
    std::function<std::optional<Seconds>()> slowest_checkpoint;
    /// When the job ends, unless somebody changes that; nothing: not known now.
    std::function<std::optional<WallTime>()> end;
  };

  /// Looks every `beat` and calls `near` once, when there is as much time left as saving takes. Not movable: the loop
  /// holds its address.
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
  std::optional<WallTime> end_;  ///< as it was said last
  std::optional<EventLoop::TimerId> timer_;
};

/// How long before the end the ranks are asked: TimeToSave, and for what the manager does afterwards. Pure.
Seconds LeadFor(Seconds slowest_checkpoint);

}  // namespace slipway::launcher
