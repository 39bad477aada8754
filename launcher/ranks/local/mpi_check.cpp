#include "launcher/ranks/local/mpi_check.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"

namespace slipway::launcher {
namespace {

constexpr const char* kSwitch = "SLIPWAY_MPI_CHECK";
constexpr const char* kPreload = "LD_PRELOAD";
/// AddressSanitizer must be the first library, unless an option allows another one before it.
constexpr const char* kOfSanitizer = "ASAN_OPTIONS";

std::string Appended(const Environment& environment, const char* name, const std::string& more) {
  const auto before = environment.Get(name).value_or("");
  return before.empty() ? more : fmt::format("{}:{}", before, more);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> VariablesOfMpiCheck(const Environment& environment) {
  const auto asked = environment.Get(kSwitch).value_or("");
  if (!asked.empty() && asked != "0" && asked != "1") {
    throw Error(ErrorKind::kUsage, fmt::format("the environment variable {} is '{}', not 0 or 1", kSwitch, asked),
                "correct it or unset it");
  }
  const auto library = (LibraryDirectory() / "slipway" / "libslipway_mpi_check.so").string();
  if (!Exists(library) || library.find_first_of(" :") != std::string::npos) return {};
  return {{kPreload, Appended(environment, kPreload, library)},
          {kOfSanitizer, Appended(environment, kOfSanitizer, "verify_asan_link_order=0")}};
}

}  // namespace slipway::launcher
