#include "staging/formats/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);  // a FIFO must not make us wait for a writer
  struct stat info {};
  CheckErrno(::fstat(fd.get(), &info), fmt::format("cannot look at '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not a regular file", path.string()), "name a file");
  }
  if (info.st_size == 0) return;  // mmap refuses an empty range
  const auto size = static_cast<std::size_t>(info.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) ThrowErrno(fmt::format("cannot map '{}'", path.string()));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    Unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { Unmap(); }

void MappedFile::Unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace slipway::staging
