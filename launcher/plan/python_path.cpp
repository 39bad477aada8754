#include "launcher/plan/python_path.h"

#include <algorithm>
#include <cstdlib>

#include "core/environment.h"
#include "core/install.h"

namespace slipway::launcher {

std::string WithAbsoluteEntries(std::string_view path, const std::filesystem::path& directory) {
  std::string result;
  for (std::size_t start = 0; start <= path.size();) {
    const auto end = std::min(path.find(':', start), path.size());
    const auto entry = path.substr(start, end - start);
    if (start > 0) result += ':';
    const bool is_relative = !entry.empty() && entry.front() != '/';
    result += is_relative ? (directory / entry).lexically_normal().string() : std::string(entry);
    start = end + 1;
  }
  return result;
}

std::string PythonPath(const std::string& own, const std::filesystem::path& modules) {
  auto path = (LibraryDirectory() / "slipway/python").string();
  if (!own.empty()) path = own + ":" + path;
  return modules.empty() ? path : path + ":" + modules.string();
}

std::string InheritedPythonPath() { return Variable(kPythonPath); }

void SettleInheritedPythonPath() {
  const auto inherited = InheritedPythonPath();
  if (inherited.empty()) return;
  std::error_code code;  // the working directory may have been removed
  const auto here = std::filesystem::current_path(code);
  if (!code) ::setenv(kPythonPath, WithAbsoluteEntries(inherited, here).c_str(), 1);
}

}  // namespace slipway::launcher
