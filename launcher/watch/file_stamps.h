/// Whether files have changed, without reading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <tuple>
#include <vector>

namespace slipway::launcher::watch {

/// Inode, size and time of the last change; zeros for a file that does not exist.
using FileStamp = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

FileStamp StampOf(const std::filesystem::path& path);
std::vector<FileStamp> StampsOf(const std::vector<std::filesystem::path>& paths);
/// When it changed last, in seconds since 1970; 0 for a file that does not exist.
double TimeOf(const FileStamp& stamp);

}  // namespace slipway::launcher::watch
