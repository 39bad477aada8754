#include "launcher/run_folder/folder_trouble.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "core/write_probe.h"

namespace slipway::launcher {
namespace {

constexpr Bytes kShown{4096};

}  // namespace

std::string TroubleOf(const std::filesystem::path& folder) {
  const int code = ErrorOfWriting(folder, kShown);
  if (code == 0 || code == EACCES || code == EPERM) return {};
  return fmt::format("its run folder cannot be written to: {}", std::generic_category().message(code));
}

}  // namespace slipway::launcher
