/// A socket to which the shims of a job connect.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "core/accept.h"
#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

/// Accepts processes of this user only. Not movable: the event loop holds its address. Call it only from the loop's
/// thread.
class Listener {
 public:
  /// `path` is the socket's, below kLongestListenerPath. Errors: SystemError.
  Listener(EventLoop& loop, std::filesystem::path path, std::function<void(UniqueFd)> arrived);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// Removes the socket.
  ~Listener();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd listener_;
  std::optional<AcceptWatch> watch_;
};

/// The longest path that fits into a socket's address.
inline constexpr std::size_t kLongestListenerPath = 107;

}  // namespace slipway::launcher
