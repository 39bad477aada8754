/// A file's bytes in memory, read-only, as the kernel pages them in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace slipway::staging {

/// Move-only. A file that is shortened while it is mapped raises SIGBUS: map only files that no one changes.
class MappedFile {
 public:
  /// Errors: SystemError naming the path; Error(kEnvironment) for what is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void Unmap() noexcept;

  std::span<const std::byte> bytes_;
};

}  // namespace slipway::staging
