/// A file that lies in memory only.
#pragma once

#include <sys/mman.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(Input input) : fd_(CheckErrno(::memfd_create("input", MFD_CLOEXEC), "cannot make a file")) {
    WriteAll(fd_.get(), AsText(input), "input");
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  UniqueFd fd_;
};

}  // namespace slipway::fuzz
