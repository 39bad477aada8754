/// Files that are written by turns, of which only some are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>

#include "core/unique_handle.h"

namespace slipway::staging {

class OpenFiles {
 public:
  explicit OpenFiles(std::size_t most) : most_(most) {}

  /// Takes a file that was opened for reading and writing; at first each must be given so.
  void Keep(std::uint32_t file, UniqueFd fd);
  /// Valid until the next call. Opened again when it was closed meanwhile: the file is still there, and no link.
  /// Errors: SystemError naming the path.
  int Get(std::uint32_t file, const std::filesystem::path& path);
  void Close(std::uint32_t file) { open_.erase(file); }

 private:
  struct Opened {
    UniqueFd fd;
    std::uint64_t used = 0;
  };

  const std::size_t most_;
  std::map<std::uint32_t, Opened> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace slipway::staging
