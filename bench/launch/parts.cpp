#include "bench/launch/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "bench/measure.h"
#include "bench/time_program.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace fs = std::filesystem;

unsigned TrialsInFlight() { return 4 * std::max(1u, std::thread::hardware_concurrency()); }

double TimeOf(const std::vector<std::string>& words, const fs::path& directory) {
  const auto end = TimeProgram(words, directory, Shown::kNothing);
  if (!end.status.Success()) {
    throw Error(ErrorKind::kFailed, fmt::format("{} ended with {}", QuoteForShell(words), end.status.Describe()),
                "give the command by hand to see what it prints");
  }
  return end.seconds;
}

Workplace::Workplace() {
  WriteSpec("one", "launch: {ranks_per_node: 1}");
  WriteSpec("two", "launch: {ranks_per_node: 2}");
  WriteSpec("trials", fmt::format("ensemble:\n  objective: {{metric: objective, goal: maximize}}\n  trials: {}\n"
                                  "  parallel: {}\n  sampler: random\n  space: {{x: {{uniform: [0, 1]}}}}",
                                  kTrials, TrialsInFlight()));
}

std::vector<std::string> Workplace::RunCommand(const std::string& spec, const fs::path& runs,
                                               const std::string& engine) {
  return {InstallPrefix() / "bin" / "slipway", "--runs-dir", runs, "-q", "run", spec + ".yaml", "--engine", engine};
}

void Workplace::WriteSpec(const std::string& name, const std::string& section) const {
  WriteFile(path() / (name + ".yaml"),
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
