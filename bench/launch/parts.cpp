#include "bench/launch/parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "bench/measure.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace fs = std::filesystem;

unsigned TrialsInFlight() { return 4 * std::max(1u, std::thread::hardware_concurrency()); }

double TimeOf(const std::vector<std::string>& words, const fs::path& directory) {
  const auto null = OpenFile("/dev/null", O_WRONLY);
  SpawnOptions options;
  options.argv = words;
  options.working_directory = directory;
  options.stdout_fd = null.get();
  options.stderr_fd = null.get();
  const auto started = SystemClock().Steady();
  const auto status = ChildProcess::Spawn(options).Wait();
  const Seconds elapsed = SystemClock().Steady() - started;
  if (!status.Success()) {
    throw Error(ErrorKind::kFailed, fmt::format("{} ended with {}", QuoteForShell(words), status.Describe()),
                "give the command by hand to see what it prints");
  }
  return elapsed.count();
}

Workplace::Workplace() {
  // Not /tmp, which may live in memory: there being durable costs nothing.
  const char* directory = std::getenv("TMPDIR");
  std::string pattern = fs::path(directory != nullptr ? directory : "/var/tmp") / "slipway-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) ThrowErrno("cannot create a folder for the benchmark");
  path_ = pattern;
  WriteSpec("one", "launch: {ranks_per_node: 1}");
  WriteSpec("two", "launch: {ranks_per_node: 2}");
  WriteSpec("trials", fmt::format("ensemble:\n  objective: {{metric: objective, goal: maximize}}\n  trials: {}\n"
                                  "  parallel: {}\n  sampler: random\n  space: {{x: {{uniform: [0, 1]}}}}",
                                  kTrials, TrialsInFlight()));
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Workplace::RunCommand(const std::string& spec, const fs::path& runs,
                                               const std::string& engine) {
  return {InstallPrefix() / "bin" / "slipway", "--runs-dir", runs, "-q", "run", spec + ".yaml", "--engine", engine};
}

void Workplace::WriteSpec(const std::string& name, const std::string& section) const {
  WriteFile(path_ / (name + ".yaml"),
            fmt::format("name: {}\ntrain:\n  command: ['{}']\n  metrics: {{from: stdout, pattern: "
                        "'FoM: (?<objective>\\S+)'}}\n{}\n",
                        name, HelperProgram("bench-support/noop").string(), section));
}

std::pair<double, double> Interleave(int rounds, const std::function<double()>& ours,
                                     const std::function<double()>& floor) {
  ours();
  floor();
  std::vector<double> ours_all, floor_all;
  for (int i = 0; i < rounds; ++i) {
    ours_all.push_back(ours());
    floor_all.push_back(floor());
  }
  return {Median(ours_all), Median(floor_all)};
}

}  // namespace slipway::bench
