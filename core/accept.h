/// Connections that come to a listening socket, also while this process has no descriptor free.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway {

/// How long a listener rests when there is no descriptor for a connection. The connection waits in the kernel, and a
/// socket that stays readable would wake its loop at once, for ever.
inline constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// The next connection, closed on exec; `flags` are others of accept4. Nothing, with errno set, when it cannot.
UniqueFd AcceptFrom(int listener, int flags = 0);

/// AcceptFrom() failed with this errno, and the connection waits still.
bool NeedsAcceptPause(int error);

/// Serves a listening socket in an event loop. Not movable: the loop holds its address. Use it in the loop's thread.
class AcceptWatch {
 public:
  using Arrived = std::function<void(UniqueFd)>;

  /// `listener` does not block, and stays open for as long as this lives. `flags` as for AcceptFrom().
  /// Errors: SystemError.
  AcceptWatch(EventLoop& loop, int listener, int flags, Arrived arrived);
  AcceptWatch(const AcceptWatch&) = delete;
  AcceptWatch& operator=(const AcceptWatch&) = delete;
  ~AcceptWatch();

 private:
  void Watch();
  void Accept();
  void Pause(int error);

  EventLoop& loop_;
  int listener_;
  int flags_;
  Arrived arrived_;
  std::optional<EventLoop::TimerId> pause_;
  bool reported_ = false;  ///< that no descriptor is free, since the last connection
};

}  // namespace slipway
