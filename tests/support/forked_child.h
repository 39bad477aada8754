/// Runs a function in a forked child: to kill it at a known instant, or to see what it prints.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace slipway::test {

/// A child that runs `body` and then waits to be killed. The constructor returns when `body` is done.
class ForkedChild {
 public:
  explicit ForkedChild(const std::function<void()>& body);
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild() { Kill(); }

  pid_t pid() const { return pid_; }
  /// kill -9, and waits until it is gone.
  void Kill();

 private:
  pid_t pid_ = -1;
};

enum class ErrorsTo { kPipe, kTerminal };

struct Printed {
  std::string output;  ///< what went to stdout
  std::string errors;  ///< what went to stderr; a terminal turns "\n" into "\r\n"
};

/// What `body` prints in a child whose stdout is a pipe and whose stderr is a pipe or a pseudo terminal.
/// At most a few KiB: nothing reads until it ends.
Printed PrintedBy(const std::function<void()>& body, ErrorsTo errors_to = ErrorsTo::kPipe);

}  // namespace slipway::test
