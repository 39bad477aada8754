#include "staging/formats/positioned_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {

void ReadAt(int fd, std::uint64_t offset, std::span<std::byte> out, const std::filesystem::path& name) {
  if (ReadUpTo(fd, offset, out, name) == out.size()) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' has become shorter while it was read: it ends before byte {}", name.string(),
                          offset + out.size()),
              "stage the dataset, or leave its files alone while they are read");
}

void WriteAt(int fd, std::span<const std::byte> bytes, std::uint64_t offset, std::string_view path) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ThrowErrno(fmt::format("cannot write '{}'", path));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void Allocate(int fd, Bytes size, std::string_view path, std::uint64_t offset) {
  int result = 0;
  do {
    result = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size.count));
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP) ThrowErrno(fmt::format("cannot reserve '{}'", path));
}

}  // namespace slipway::staging
