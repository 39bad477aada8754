/// Ctrl-C, SIGTERM and SIGHUP, and the batch system's warning of the end, as an event instead of a sudden end.
#pragma once

#include <functional>

#include "core/clock.h"
#include "core/event_loop.h"

namespace slipway {

/// Why a run is to end early.
enum class InterruptCause { kUser, kTimeLimit };

class Interrupt {
 public:
  /// Takes the signals over for as long as `loop` lives.
  explicit Interrupt(EventLoop& loop);

  /// How often the user has asked; 0 = not yet.
  int count() const { return count_; }
  bool asked() const { return count_ > 0; }
  /// Ctrl-C was pressed again when the end had been asked for: whoever did so will not wait for it.
  bool forced() const { return forced_; }

  /// As if the user had asked: for what ends a run from within.
  void Ask();

  /// From now on SIGUSR1 asks, too: the batch system sends it some time before the job's time is over.
  void ListenForTimeLimit();
  /// As if it had come.
  void AskForTimeLimit();
  /// Of the first who asked.
  InterruptCause cause() const { return cause_; }

  /// Called whenever somebody asks from now on; replaces the one before. Null: only counted.
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
