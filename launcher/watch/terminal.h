/// The terminal of `slipway watch`, by ncurses: the only place that knows it.
#pragma once

#include <memory>
#include <optional>

#include "launcher/watch/frame.h"
#include "launcher/watch/model.h"

namespace slipway::launcher::watch {

/// Switches the terminal to full screen, without echo, until the end of its life: then everything is as it was before,
/// also when an exception ends it. One at a time. While it lives, what this process writes to stderr is dropped, if
/// that is the terminal, too.
class Terminal {
 public:
  /// Errors: Error(kEnvironment) without a terminal, or with one that cannot move its cursor; the next step is to use
  /// `slipway status`.
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Asks the kernel for the present size. Call it at the begin and after SIGWINCH.
  Screen Size();
  /// Restores the terminal until the next Show.
  void Leave();
  /// Sends only what differs from the frame before.
  void Show(Frame frame);
  /// The next key that was pressed; nothing: there is none, or one without a meaning here. Never waits.
  std::optional<Key> ReadKey();
  /// The other side is gone.
  bool HungUp() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slipway::launcher::watch
