/// One thread that waits for descriptors, signals and timers at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace slipway {

class EventLoop {
 public:
  using Callback = std::function<void()>;
  using TimerId = std::uint64_t;

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  /// Calls `callback` whenever `fd` is readable or at its end, until Forget(fd).
  void OnReadable(int fd, Callback callback);
  /// Safe inside callbacks, also for the descriptor being served. Call it before closing the descriptor.
  void Forget(int fd);

  /// Calls `callback(signal)` in the loop instead of the default action; blocks these signals in the process
  /// until the loop is destroyed. May be called again for other signals.
  void OnSignals(const std::vector<int>& signals, std::function<void(int)> callback);

  /// Timers run in the order in which they are due.
  TimerId After(std::chrono::nanoseconds delay, Callback callback);
  void Cancel(TimerId timer);

  /// Waits for at least one event, serves all that are ready, returns. At most until `limit` from now.
  void RunOnce(std::chrono::nanoseconds limit = std::chrono::hours(24));

 private:
  struct Watch;
  struct Timer {
    SteadyTime due;
    Callback callback;
  };

  int MillisecondsUntilNextTimer(std::chrono::nanoseconds limit) const;
  void RunDueTimers();

  UniqueFd epoll_;
  std::vector<UniqueFd> signal_fds_;
  std::map<int, std::shared_ptr<Watch>> watches_;
  std::map<TimerId, Timer> timers_;
  TimerId next_timer_ = 1;
  std::unique_ptr<struct SavedSignalMask> saved_mask_;
};

}  // namespace slipway
