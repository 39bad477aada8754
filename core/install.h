/// Where the parts of this installation lie, found from the running program, so that the tree can be moved.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway {

/// PREFIX of PREFIX/bin/slipway or PREFIX/libexec/slipway/...: the build tree has the same shape.
std::filesystem::path InstallPrefix();
/// PREFIX/libexec/slipway/NAME.
std::filesystem::path HelperProgram(std::string_view name);
/// PREFIX/lib.
std::filesystem::path LibraryDirectory();
/// PREFIX/share/slipway (configs, templates).
std::filesystem::path SharedDirectory();

/// The command that builds the parts that this build tree may lack (`cmake --build PREFIX`); empty in an installation,
/// which is complete.
std::string BuildTheRest();

/// "0.1.0".
std::string_view Version();
/// Short hash of the sources' revision, "unknown" outside git.
std::string_view SourceRevision();

}  // namespace slipway
