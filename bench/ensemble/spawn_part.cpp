#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "bench/ensemble/bare_processes.h"
#include "bench/ensemble/parts.h"
#include "bench/ensemble/stopwatch.h"
#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kSpawnedTrials = 300;
constexpr double kSpawnGoal = 0.5;

/// The shortest run there is: it begins and ends a manager, so what it takes is no trial's.
std::string SpecOf(const std::string& program, int trials, int parallel) {
  return fmt::format(
      "name: spawn\n"
      "train:\n"
      "  command: ['{}']\n"
      "  metrics: {{from: stdout, pattern: 'FoM: (?<objective>\\S+)'}}\n"
      "ensemble:\n"
      "  objective: {{metric: objective, goal: maximize}}\n"
      "  trials: {}\n"
      "  parallel: {}\n"
      "  sampler: random\n"
      "  space: {{x: {{uniform: [0, 1]}}}}\n",
      program, trials, parallel);
}

double SecondsOfRun(const fs::path& folder, const std::string& program, int trials, int parallel) {
  MakeDirectories(folder);
  WriteFile(folder / "spec.yaml", SpecOf(program, trials, parallel));
  const auto null = OpenFile("/dev/null", O_WRONLY);
  SpawnOptions options;
  options.stdout_fd = null.get();
  options.argv = {InstallPrefix() / "bin" / "slipway",
                  "--runs-dir",
                  folder / "runs",
                  "-q",
                  "run",
                  "spec.yaml",
                  "--engine",
                  "local"};
  options.working_directory = folder;
  ExitStatus status;
  const double seconds = SecondsOf([&] { status = ChildProcess::Spawn(options).Wait(); });
  if (!status.Success())
    throw Error(ErrorKind::kFailed, "slipway run: " + status.Describe(), "see what slipway run printed above");
  return seconds;
}

struct Program {
  const char* what;
  const char* name;  ///< in bench-support/
};
/// Both print one line and end. No program starts faster than the first; the second is as C++ programs commonly are.
constexpr Program kPrograms[] = {{"static C program", "noop"}, {"C++ program", "noop-cpp"}};

/// What each round found; rates a second.
struct Rounds {
  std::vector<double> whole, steady, bare, with_files;
};

Rounds Measure(int parallel, const std::string& program, const fs::path& folder, int rounds) {
  Rounds found;
  for (int round = 0; round < rounds; ++round) {
    const auto at = folder / std::to_string(round);
    const double one = SecondsOfRun(at / "one", program, 1, 1);
    const double all = SecondsOfRun(at / "all", program, kSpawnedTrials, parallel);
    found.whole.push_back(kSpawnedTrials / all);
    found.steady.push_back((kSpawnedTrials - 1) / (all - one));
    found.bare.push_back(BareSpawnRate(program, kSpawnedTrials, parallel));
    found.with_files.push_back(SpawnRateWithFiles(program, at / "files", kSpawnedTrials, parallel));
  }
  return found;
}

std::vector<double> Ratios(const std::vector<double>& rates, const std::vector<double>& of) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rates.size(); ++round) ratios.push_back(rates[round] / of[round]);
  return ratios;
}

/// "0.43 (0.40 to 0.47)": median and range.
std::string WithRange(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", Median(values), least, most);
}

Figure MeasureAt(int parallel, const Program& noop, const fs::path& folder, int rounds) {
  const auto found = Measure(parallel, HelperProgram(std::string("bench-support/") + noop.name), folder, rounds);
  Figure figure{"spawn", fmt::format("{} trials of a {}, {} at a time", kSpawnedTrials, noop.what, parallel),
                Median(found.whole), "trials/s"};
  figure.beside = {{"bare posix_spawn and waitpid", Median(found.bare)},
                   {"the same with the files and commits of trials", Median(found.with_files)},
                   {"without the time of a run of one trial", Median(found.steady)}};
  const auto ratios = Ratios(found.whole, found.bare);
  figure.goal = fmt::format(">= {:g} of the bare rate; in the rounds {}, files and commits alone allow {}", kSpawnGoal,
                            WithRange(ratios), WithRange(Ratios(found.with_files, found.bare)));
  figure.reached = Median(ratios) >= kSpawnGoal;
  return figure;
}

}  // namespace

std::vector<Figure> MeasureSpawn(const PartOptions& options) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<Figure> figures;
  for (const auto& program : kPrograms) {
    for (const int parallel : {1, 4 * cores}) {
      const auto folder = options.folder / fmt::format("{}-{}", program.name, parallel);
      figures.push_back(MeasureAt(parallel, program, folder, options.rounds));
    }
  }
  return figures;
}

}  // namespace slipway::bench
