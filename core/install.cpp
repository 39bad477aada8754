#include "core/install.h"

#include "core/error.h"
#include "core/files.h"

namespace slipway {
namespace fs = std::filesystem;

namespace {

/// The nearest ancestor of the running program that holds libexec/slipway.
fs::path FindPrefix() {
  const auto program = fs::read_symlink("/proc/self/exe");
  for (auto directory = program.parent_path(); directory.has_relative_path(); directory = directory.parent_path()) {
    if (IsDirectory(directory / "libexec" / "slipway")) return directory;
  }
  return program.parent_path().parent_path();
}

}  // namespace

fs::path InstallPrefix() {
  static const fs::path prefix = FindPrefix();
  return prefix;
}

fs::path HelperProgram(std::string_view name) { return InstallPrefix() / "libexec" / "slipway" / name; }
fs::path LibraryDirectory() { return InstallPrefix() / "lib"; }
fs::path SharedDirectory() { return InstallPrefix() / "share" / "slipway"; }

std::string BuildTheRest() {
  const bool is_build_tree = Exists(InstallPrefix() / "CMakeCache.txt");
  return is_build_tree ? "cmake --build " + InstallPrefix().string() : std::string();
}

std::string_view Version() { return SLIPWAY_VERSION; }
std::string_view SourceRevision() { return SLIPWAY_REVISION; }

}  // namespace slipway
