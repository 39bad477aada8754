/// fsync of a file: makes its content durable. SyncDirectory (core/files.h) does it for the names in a directory.
#pragma once

#include <filesystem>

namespace slipway {

/// Errors: SystemError naming the file.
void SyncFile(const std::filesystem::path& path);
void SyncFile(int fd, const std::filesystem::path& name);

}  // namespace slipway
