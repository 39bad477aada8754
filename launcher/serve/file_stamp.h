/// Whether files have changed, without reading them.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>

namespace slipway::launcher {

/// All zero: there is no such file, or it may not be looked at.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  ///< also a change of its mode or owner
  bool operator==(const FileStamp&) const = default;
};

/// Cost: one stat(2).
inline FileStamp StampOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  return {info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

}  // namespace slipway::launcher
