#include "launcher/cli/commands/request_lines.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace slipway::launcher {
namespace {

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

RequestLines::RequestLines(int fd, std::size_t longest) : fd_(fd), longest_(longest) {
  const auto signals = EndingSignals();
  CheckErrno(::sigprocmask(SIG_BLOCK, &signals, &mask_before_), "cannot block signals");
  signals_.Reset(CheckErrno(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), "cannot watch signals"));
}

/// A signal that has been heeded must not end the process now.
RequestLines::~RequestLines() {
  signalfd_siginfo heeded{};
  while (::read(signals_.get(), &heeded, sizeof heeded) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

/// False when a signal has come; signals go first.
bool RequestLines::WaitForBytes(const std::function<void()>& meanwhile) {
  pollfd watched[] = {{signals_.get(), POLLIN, 0}, {fd_, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(watched, 2, static_cast<int>(kPause.count()));
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) ThrowErrno("cannot wait for requests");
    if (ready == 0) meanwhile();
  }
  interrupted_ = watched[0].revents != 0;
  return !interrupted_;
}

/// False at the end.
bool RequestLines::ReadMore() {
  char chunk[1 << 16];
  const auto count = ::read(fd_, chunk, sizeof chunk);
  if (count < 0 && errno == EINTR) return true;
  CheckErrno(count, "cannot read requests");
  bytes_.append(chunk, static_cast<std::size_t>(count));
  return count > 0;
}

/// Moves what is there of a line behind `line`; true when that is all of it.
bool RequestLines::TakeLine(std::string& line) {
  const auto end = std::min(bytes_.find('\n'), bytes_.size());
  line.append(bytes_, 0, std::min(end, longest_ + 1 - line.size()));
  const bool whole = end < bytes_.size();
  bytes_.erase(0, whole ? end + 1 : end);
  return whole;
}

std::optional<std::string> RequestLines::Next(const std::function<void()>& meanwhile) {
  std::string line;
  while (!TakeLine(line)) {
    if (!WaitForBytes(meanwhile)) return std::nullopt;
    if (ReadMore()) continue;
    return line.empty() ? std::nullopt : std::optional(std::move(line));
  }
  return line;
}

}  // namespace slipway::launcher
