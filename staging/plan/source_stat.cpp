#include "staging/plan/source_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.h"

namespace slipway::staging {
namespace {

std::int64_t Nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

SourceState StatAt(int fd, const char* name, int flags, const std::filesystem::path& path) {
  struct statx info {};
  if (::statx(fd, name, flags | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &info) != 0) {
    ThrowErrno(fmt::format("cannot find '{}'", path.string()));
  }
  return {info.stx_mode, Bytes{info.stx_size}, Nanoseconds(info.stx_mtime), Nanoseconds(info.stx_ctime), info.stx_ino};
}

}  // namespace

SourceState StatSource(const std::filesystem::path& path) { return StatAt(AT_FDCWD, path.c_str(), 0, path); }

SourceState StatSource(int fd, const std::filesystem::path& path) { return StatAt(fd, "", AT_EMPTY_PATH, path); }

void CheckUnchanged(const SourceFile& planned, const SourceState& now) {
  if (S_ISREG(now.mode) && now.size == planned.size && now.mtime_ns == planned.mtime_ns && now.inode == planned.inode) {
    return;
  }
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", planned.path.string()),
              "start again when nothing writes to it any more");
}

}  // namespace slipway::staging
