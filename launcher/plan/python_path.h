/// PYTHONPATH of the programs that Slipway starts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway::launcher {

inline constexpr const char* kPythonPath = "PYTHONPATH";

/// `path`, a list with ':' between its entries, where each relative entry lies in `directory`. Empty entries stay.
std::string WithAbsoluteEntries(std::string_view path, const std::filesystem::path& directory);

/// What a program finds in PYTHONPATH: `own`, then the Python package of libslipway, then `modules`. Empty parts are
/// left out.
std::string PythonPath(const std::string& own, const std::filesystem::path& modules = {});

/// PYTHONPATH of this process.
std::string InheritedPythonPath();

/// Makes the relative entries in PYTHONPATH of this process absolute, from its working directory: ranks work elsewhere.
/// Call it before the first thread starts.
void SettleInheritedPythonPath();

}  // namespace slipway::launcher
