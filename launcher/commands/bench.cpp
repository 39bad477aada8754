#include "launcher/commands/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/install.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kPrefix = "bench-";

std::string KnownBenchmarks() {
  std::string names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(HelperProgram(""), error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) names += (names.empty() ? "" : ", ") + name.substr(kPrefix.size());
  }
  return names.empty() ? "none" : names;
}

}  // namespace

int Bench(const BenchOptions& options, Session& session) {
  const auto program = HelperProgram(std::string(kPrefix) + options.name);
  if (options.name.find('/') != std::string::npos || ::access(program.c_str(), X_OK) != 0) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no benchmark '{}'", options.name),
                fmt::format("this installation has: {}", KnownBenchmarks()));
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  if (session.output.mode() == OutputMode::kJson) words.push_back("--json");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  ThrowErrno(fmt::format("cannot start '{}'", program.string()));
}

}  // namespace slipway::launcher
