#include "launcher/ranks/monitor/line_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace slipway::launcher {
namespace {

/// A longer line is cut into pieces of this size: a program that never ends its line must not fill our memory.
constexpr std::size_t kLongestFollowedLine = 64 * 1024;

}  // namespace

LineFollower::LineFollower(std::filesystem::path path, std::function<void(std::string_view)> callback,
                           BytesRead on_read)
    : path_(std::move(path)), callback_(std::move(callback)), on_read_(std::move(on_read)) {}

void LineFollower::Poll() {
  // Without O_NONBLOCK the open of a pipe waits for its writer. What is no file gives no lines.
  if (!fd_) fd_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd_) return;
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0 && static_cast<std::uint64_t>(info.st_size) < offset_) offset_ = 0;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::pread(fd_.get(), buffer, sizeof buffer, static_cast<off_t>(offset_));
    if (count <= 0) return;
    offset_ += static_cast<std::uint64_t>(count);
    Take({buffer, static_cast<std::size_t>(count)});
    if (on_read_) on_read_(static_cast<std::uint64_t>(count));
  }
}

void LineFollower::Finish() {
  Poll();
  fd_.Reset();
  if (!line_.empty()) Deliver(std::exchange(line_, {}));
}

void LineFollower::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto length = std::min({end, bytes.size(), kLongestFollowedLine - line_.size()});
    const auto piece = bytes.substr(0, length);
    bytes.remove_prefix(length == end ? length + 1 : length);
    const bool is_whole = length == end;
    if (is_whole && line_.empty()) {
      Deliver(piece);  // most lines lie in one piece and need no copy
      continue;
    }
    line_.append(piece);
    if (is_whole) {
      Deliver(std::exchange(line_, {}));
    } else if (line_.size() == kLongestFollowedLine) {
      DeliverPiece();
    }
  }
}

void LineFollower::DeliverPiece() {
  const auto last_return = line_.rfind('\r');
  const auto length = last_return == std::string::npos ? line_.size() : last_return + 1;
  auto rest = line_.substr(length);
  line_.resize(length);
  Deliver(std::exchange(line_, std::move(rest)));
}

void LineFollower::Deliver(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  callback_(line);
}

}  // namespace slipway::launcher
