/// Ctrl-C, SIGTERM and SIGHUP as an event instead of a sudden end.
#pragma once

#include <functional>

#include "core/event_loop.h"

namespace slipway::launcher {

class Interrupt {
 public:
  /// Takes the signals over for as long as `loop` lives.
  explicit Interrupt(EventLoop& loop);

  /// How often the user has asked; 0 = not yet.
  int count() const { return count_; }
  bool asked() const { return count_ > 0; }

  /// As if the user had asked: for what ends a run from within.
  void Ask();

  /// Called whenever somebody asks from now on; replaces the one before. Null: only counted.
  void OnAsk(std::function<void()> callback) { callback_ = std::move(callback); }

 private:
  int count_ = 0;
  std::function<void()> callback_;
};

}  // namespace slipway::launcher
