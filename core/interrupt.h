/// Ctrl-C, SIGTERM, SIGHUP and the batch system's time limit warning, as events instead of a sudden end.
#pragma once

#include <signal.h>

#include <functional>

#include "core/clock.h"
#include "core/event_loop.h"

namespace slipway {

/// Why a run is to end early.
enum class InterruptCause { kUser, kTimeLimit };

/// Keeps SIGINT, SIGTERM and SIGHUP waiting while it lives. An Interrupt that is made meanwhile gets those that wait;
/// others end the process when this object goes. Children start without it. For the main thread.
class HeldInterrupts {
 public:
  HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
  ~HeldInterrupts();

  /// Whether one waits that is not ignored.
  bool IsPending() const;

 private:
  sigset_t before_{};
};

class Interrupt {
 public:
  /// Takes the signals over for as long as `loop` lives. SIGPIPE is ignored from then on: work that ends in order does
  /// not end because `head` or a pager has read enough.
  explicit Interrupt(EventLoop& loop);

  /// How often the user has asked; 0 = not yet.
  int count() const { return count_; }
  bool asked() const { return count_ > 0; }
  /// Ctrl-C was pressed again after the first request: the user does not want to wait for an orderly end.
  bool forced() const { return forced_; }

  /// Counts as a request of the user. For causes within the run.
  void Ask();

  /// From now on SIGUSR1 counts as a request, too. The batch system sends it some time before the job's time limit.
  void ListenForTimeLimit();
  /// As if SIGUSR1 had come.
  void AskForTimeLimit();
  /// The cause of the first request.
  InterruptCause cause() const { return cause_; }

  /// Called at each request from now on; replaces the callback set before. Null: requests are only counted.
  void OnAsk(std::function<void()> callback) { callback_ = std::move(callback); }

 private:
  void Take(int signal);

  EventLoop& loop_;
  int count_ = 0;
  bool forced_ = false;
  SteadyTime heard_{};  // the latest signal
  InterruptCause cause_ = InterruptCause::kUser;
  std::function<void()> callback_;
};

}  // namespace slipway
