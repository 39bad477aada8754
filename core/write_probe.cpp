#include "core/write_probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/files.h"

namespace slipway {

int ErrorOfWriting(const std::filesystem::path& folder, Bytes wanted) {
  const auto probe = folder / fmt::format(".probe-{}", ::getpid());
  int code = 0;
  try {
    WriteFile(probe, std::string(wanted.count, '\n'));
  } catch (const SystemError& error) {
    code = error.code();
  }
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return code;
}

bool MeansDiskFull(int error) { return error == ENOSPC || error == EDQUOT; }

std::string WhyNoDiskSpace(const std::filesystem::path& folder, Bytes wanted) {
  const int code = ErrorOfWriting(folder, wanted);
  return MeansDiskFull(code) ? std::generic_category().message(code) : std::string();
}

bool MayLackSpace(const std::filesystem::path& folder, Bytes wanted) try {
  const auto space = SpaceOf(folder);
  return space.available < wanted || (space.total_inodes > 0 && space.free_inodes == 0);
} catch (const SystemError&) {
  return true;
}

}  // namespace slipway
