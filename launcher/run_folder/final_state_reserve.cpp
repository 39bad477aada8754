#include "launcher/run_folder/final_state_reserve.h"

#include <string>

#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

/// state.json with the end of a log in it, twice, and some lines of events; file systems count in blocks.
constexpr std::size_t kReservedBytes = 128 << 10;

}  // namespace

FinalStateReserve::FinalStateReserve(const std::filesystem::path& folder) : file_(folder / ".reserve") {
  try {
    WriteFile(file_, std::string(kReservedBytes, '\n'));
  } catch (const SystemError&) {
    GiveUp();
  }
}

void FinalStateReserve::GiveUp() noexcept {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace slipway::launcher
