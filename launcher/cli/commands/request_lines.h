/// Lines from a descriptor (a pipe, a terminal, a file), until its end or until this process is asked to end.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/unique_handle.h"

namespace slipway::launcher {

/// While it lives SIGINT, SIGTERM and SIGHUP do not end the process at once: the line that is worked on is finished.
class RequestLines {
 public:
  /// `longest`: of a line that is longer only one byte more is kept, which shows that it is.
  RequestLines(int fd, std::size_t longest);
  RequestLines(const RequestLines&) = delete;
  RequestLines& operator=(const RequestLines&) = delete;
  ~RequestLines();

  /// Waits for the next line, without its end; nothing when there is none: the other side has closed, or a signal came.
  /// While none comes, `meanwhile` is called again and again, every `kPause`.
  std::optional<std::string> Next(const std::function<void()>& meanwhile);
  static constexpr auto kPause = std::chrono::milliseconds(200);
  bool interrupted() const { return interrupted_; }

 private:
  bool WaitForBytes(const std::function<void()>& meanwhile);
  bool ReadMore();
  bool TakeLine(std::string& line);

  int fd_;
  std::size_t longest_;
  sigset_t mask_before_{};
  UniqueFd signals_;
  std::string bytes_;  // read, not looked at yet
  bool interrupted_ = false;
};

}  // namespace slipway::launcher
