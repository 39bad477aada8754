/// Whether files have changed, without reading them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace slipway::launcher {

/// All zero: there is no such file, or it may not be looked at.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970
  std::int64_t changed_ns = 0;   ///< also a change of its mode or owner
  bool operator==(const FileStamp&) const = default;
};

inline constexpr std::int64_t kNanosecondsOfSecond = 1'000'000'000;

/// Cost: one stat(2).
inline FileStamp StampOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * kNanosecondsOfSecond + time.tv_nsec; };
  return {info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

inline std::vector<FileStamp> StampsOf(const std::vector<std::filesystem::path>& paths) {
  std::vector<FileStamp> stamps;
  for (const auto& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

/// In seconds since 1970; 0 without a file.
inline double ModifiedAt(const FileStamp& stamp) {
  return static_cast<double>(stamp.modified_ns / kNanosecondsOfSecond) +
         1e-9 * static_cast<double>(stamp.modified_ns % kNanosecondsOfSecond);
}

}  // namespace slipway::launcher
