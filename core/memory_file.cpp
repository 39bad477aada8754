#include "core/memory_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace slipway {

UniqueFd FileInMemory(std::string_view text) {
  constexpr auto kWhat = "cannot make a file in memory";
  UniqueFd file(CheckErrno(::memfd_create("slipway", MFD_CLOEXEC), kWhat));
  WriteAll(file.get(), text, "a file in memory");
  CheckErrno(::lseek(file.get(), 0, SEEK_SET), kWhat);
  return file;
}

std::string TextOf(const UniqueFd& file) { return ReadFile(fmt::format("/proc/self/fd/{}", file.get())); }

}  // namespace slipway
