#include "launcher/cli/commands/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/descriptor_limit.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/write_signals.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kBenchPrefix = "bench-";

bool IsProgram(const std::filesystem::path& path) { return IsRegularFile(path) && ::access(path.c_str(), X_OK) == 0; }

}  // namespace

std::vector<std::string> Benchmarks() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(HelperProgram(""), error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(kBenchPrefix) && IsProgram(entry.path())) names.push_back(name.substr(kBenchPrefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

int Bench(const BenchOptions& options, Session& session) {
  const auto program = HelperProgram(std::string(kBenchPrefix) + options.name);
  if (options.name.find('/') != std::string::npos || !IsProgram(program)) {
    auto names = Benchmarks();
    if (names.empty()) names.push_back("none");
    const auto rest = BuildTheRest();
    throw Error(ErrorKind::kUsage, fmt::format("there is no benchmark '{}'", options.name),
                fmt::format("this installation has: {}{}", fmt::join(names, ", "),
                            rest.empty() ? "" : "; build the others with: " + rest));
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  if (options.help) words.push_back("--help");
  if (session.output.mode() == OutputMode::kJson) words.push_back("--json");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ResetDescriptorLimit();
  ResetWriteSignals();
  ::execv(program.c_str(), argv.data());
  ThrowErrno(fmt::format("cannot start '{}'", program.string()));
}

}  // namespace slipway::launcher
