/// The state of a source file, for finding out whether it has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct SourceState {
  mode_t mode = 0;
  uid_t owner = 0;
  Bytes size;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const SourceState&) const = default;
};

/// statx(2), links followed, past the attribute cache of a network file system. Errors: SystemError naming the path.
SourceState StatSource(const std::string& path);

/// The same of an open file; `path` is for the message.
SourceState StatSource(int fd, const SourcePath& path);

/// The same, once any later change is sure to give the file another ctime. A file that changed just now may change
/// again within the same tick of its file system's clock, without another ctime. `on_wait` is called in a long wait,
/// and may throw. Cost: waits until the file is 20 ms old; 2 s where times are whole seconds or of another machine's
/// clock.
SourceState StatSettledSource(int fd, const SourcePath& path, const std::function<void()>& on_wait);

/// Errors: Error(kEnvironment) when the file has changed since the plan.
void CheckUnchanged(const SourceFile& planned, const SourceState& now);

}  // namespace slipway::staging
