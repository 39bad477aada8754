/// What tells one state of a source file from another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct SourceState {
  mode_t mode = 0;
  Bytes size;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const SourceState&) const = default;
};

/// statx(2), links followed, past the attribute cache of a network file system. Errors: SystemError naming the path.
SourceState StatSource(const std::filesystem::path& path);

/// The same of an open file; `path` is for the message.
SourceState StatSource(int fd, const std::filesystem::path& path);

/// Errors: Error(kEnvironment) when the file is no longer the one that was planned.
void CheckUnchanged(const SourceFile& planned, const SourceState& now);

}  // namespace slipway::staging
