#include "core/sync_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace slipway {

void SyncFile(const std::filesystem::path& path) { SyncFile(OpenFile(path, O_RDONLY).get(), path); }

void SyncFile(int fd, const std::filesystem::path& name) {
  CheckErrno(::fsync(fd), fmt::format("cannot sync '{}'", name.string()));
}

}  // namespace slipway
