// slipway-slurm: carries out one request to Slurm. It reads the request from standard input, answers in one line and
// ends.
// It is a separate process because libslurm may exit, print or block for a minute. The caller sets a deadline.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/install.h"
#include "core/unique_handle.h"
#include "launcher/cluster/module/answer.h"
#include "launcher/cluster/slurm_messages.h"
#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModulePrefix = "libslipway_slurm-";

/// 38 of libslipway_slurm-38.so; -1 for another file.
int NumberOf(const fs::path& path) {
  const auto name = path.filename().string();
  if (!name.starts_with(kModulePrefix) || path.extension() != ".so") return -1;
  int number = -1;
  std::from_chars(name.data() + kModulePrefix.size(), name.data() + name.size(), number);
  return number;
}

/// Those of this installation, the newest libslurm first: lib/slipway/slurm/libslipway_slurm-38.so.
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

/// The entry of the first module whose libslurm is installed here. Its symbols become global, because libslurm loads
/// plugins that need them.
/// Errors: SlurmError(kNotBuilt, kNoLibrary).
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

/// Where the answer goes. From now on whatever prints to the standard output prints to the error output instead.
UniqueFd TakeStandardOutput() {
  UniqueFd answer(CheckErrno(::dup(STDOUT_FILENO), "the standard output"));
  CheckErrno(::dup2(STDERR_FILENO, STDOUT_FILENO), "the error output");
  return answer;
}

/// Without a slurm.conf, libslurm searches for the controller by DNS. On a laptop no server may answer.
void KeepNameServiceShort() { ::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0); }

/// libslurm would write the tasks of an array in 64 characters, and leave out the rest.
void NameAllTasks() { ::setenv("SLURM_BITSTR_LEN", "0", 1); }

std::string AnswerTo(const std::string& request) {
  try {
    const auto answer = LoadSlurmModule(LibraryDirectory() / "slipway" / "slurm");
    return answer(request.c_str());
  } catch (const SlurmError& error) {
    return AnswerLine(error.report());
  }
}

int Main() {
  const auto output = TakeStandardOutput();
  KeepNameServiceShort();
  NameAllTasks();
  const auto answer = AnswerTo(ReadFile("/dev/stdin")) + "\n";
  WriteAll(output.get(), answer, "the standard output");
  return 0;
}

}  // namespace

}  // namespace slipway::launcher

int main() {
  int status = 3;
  try {
    status = slipway::launcher::Main();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-slurm: %s\n", error.what());
  }
  std::fflush(nullptr);
  ::_exit(status);  // not through the exit handlers of libslurm and its plugins
}
