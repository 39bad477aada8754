#include "launcher/cluster/helper/load_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kModulePrefix = "libslipway_slurm-";

/// 38 of libslipway_slurm-38.so; -1 for another file.
int NumberOf(const fs::path& path) {
  const auto name = path.filename().string();
  if (!name.starts_with(kModulePrefix) || path.extension() != ".so") return -1;
  int number = -1;
  std::from_chars(name.data() + kModulePrefix.size(), name.data() + name.size(), number);
  return number;
}

}  // namespace

std::vector<fs::path> SlurmModules(const fs::path& folder) {
  std::vector<fs::path> modules;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (NumberOf(entry.path()) >= 0) modules.push_back(entry.path());
  }
  std::sort(modules.begin(), modules.end(),
            [](const fs::path& left, const fs::path& right) { return NumberOf(left) > NumberOf(right); });
  return modules;
}

SlurmAnswerFunction LoadSlurmModule(const fs::path& folder) {
  std::string reasons;
  for (const auto& module : SlurmModules(folder)) {
    if (void* library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      if (void* entry = ::dlsym(library, kSlurmAnswerSymbol)) return reinterpret_cast<SlurmAnswerFunction>(entry);
    }
    const char* reason = ::dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : "no reason given");
  }
  if (reasons.empty()) throw SlurmError({SlurmTrouble::kNotBuilt, 0, "no module in '" + folder.string() + "'", ""});
  throw SlurmError({SlurmTrouble::kNoLibrary, 0, reasons, ""});
}

}  // namespace slipway::launcher
