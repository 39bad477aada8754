#include "launcher/ranks/monitor/line_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace slipway::launcher {
namespace {

/// A longer line is cut into pieces of this size: a program that never ends its line must not fill our memory.
constexpr std::size_t kLongestFollowedLine = 64 * 1024;

}  // namespace

LineFollower::LineFollower(std::filesystem::path path, std::function<void(std::string_view)> callback)
    : path_(std::move(path)), callback_(std::move(callback)) {}

void LineFollower::Poll() {
  // Without O_NONBLOCK the open of a pipe waits for its writer. What is no file gives no lines.
  if (!fd_) fd_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd_) return;
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0 && static_cast<std::uint64_t>(info.st_size) < offset_) offset_ = 0;
  char buffer[1 << 15];
  while (true) {
    const ssize_t count = ::pread(fd_.get(), buffer, sizeof buffer, static_cast<off_t>(offset_));
    if (count <= 0) return;
    offset_ += static_cast<std::uint64_t>(count);
    Take({buffer, static_cast<std::size_t>(count)});
  }
}

void LineFollower::Finish() {
  Poll();
  if (!line_.empty()) Deliver();
}

void LineFollower::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto room = kLongestFollowedLine - line_.size();
    const auto length = std::min({end, bytes.size(), room});
    line_.append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (length == end) bytes.remove_prefix(1);
    if (length == end || line_.size() == kLongestFollowedLine) Deliver();
  }
}

void LineFollower::Deliver() {
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  const auto line = std::exchange(line_, {});
  callback_(line);
}

}  // namespace slipway::launcher
