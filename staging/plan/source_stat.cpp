#include "staging/plan/source_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "core/error.h"
#include "staging/plan/tier_places.h"

namespace slipway::staging {
namespace {

std::int64_t Nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::string TextOf(const std::string& path) { return path; }
std::string TextOf(const SourcePath& path) { return path.string(); }

template <class Path>
SourceState StatAt(int fd, const char* name, int flags, const Path& path) {
  struct statx info {};
  if (::statx(fd, name, flags | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &info) != 0) {
    ThrowErrno(fmt::format("cannot find '{}'", TextOf(path)));
  }
  return {info.stx_mode, info.stx_uid, Bytes{info.stx_size}, Nanoseconds(info.stx_mtime), Nanoseconds(info.stx_ctime),
          info.stx_ino};
}

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTick(20);  // two of the longest there are
constexpr milliseconds kLongTick(2000);

nanoseconds AgeOf(const SourceState& state) {
  return std::chrono::duration_cast<nanoseconds>(SystemClock().Now().time_since_epoch()) - nanoseconds(state.ctime_ns);
}

/// How much longer a change could hide. A time that lies far ahead is of a clock that we know nothing of.
nanoseconds LeftToSettle(const SourceState& state, const SourcePath& path) {
  const auto age = AgeOf(state);
  if (age >= kLongTick || age <= -kLongTick) return {};
  const bool whole_seconds = state.ctime_ns % 1'000'000'000 == 0;
  return (whole_seconds || LivesOnNetwork(path) ? kLongTick : kTick) - age;
}

}  // namespace

SourceState StatSource(const std::string& path) { return StatAt(AT_FDCWD, path.c_str(), 0, path); }

SourceState StatSource(int fd, const SourcePath& path) { return StatAt(fd, "", AT_EMPTY_PATH, path); }

/// A file that is written to all the time is for CheckUnchanged.
SourceState StatSettledSource(int fd, const SourcePath& path, const std::function<void()>& on_wait) {
  const auto until = SystemClock().Steady() + 2 * kLongTick;
  while (true) {
    auto state = StatSource(fd, path);
    const auto left = LeftToSettle(state, path);
    if (left.count() <= 0 || SystemClock().Steady() > until) return state;
    if (left > kTick) on_wait();
    SystemClock().Sleep(std::min<nanoseconds>(left, kTick));
  }
}

void CheckUnchanged(const SourceFile& planned, const SourceState& now) {
  if (S_ISREG(now.mode) && now.size == planned.size && now.mtime_ns == planned.mtime_ns && now.inode == planned.inode) {
    return;
  }
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", planned.path.string()),
              "start again when nothing writes to it any more");
}

}  // namespace slipway::staging
