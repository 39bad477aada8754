#include "launcher/run/folder/folder_trouble.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kShownBytes = 4096;

/// 0: the file could be written.
int ErrorOfWriting(const std::filesystem::path& file) try {
  WriteFile(file, std::string(kShownBytes, '\n'));
  return 0;
} catch (const SystemError& error) {
  return error.code();
}

}  // namespace

std::string TroubleOf(const std::filesystem::path& folder) {
  const auto probe = folder / fmt::format(".probe-{}", ::getpid());
  const int code = ErrorOfWriting(probe);
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  if (code == 0 || code == EACCES || code == EPERM) return {};
  return fmt::format("its run folder cannot be written to: {}", std::generic_category().message(code));
}

}  // namespace slipway::launcher
