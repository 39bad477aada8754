#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "bench/ensemble/disk_limits.h"
#include "bench/ensemble/parts.h"
#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace {

namespace fs = std::filesystem;

/// Its output goes into a file.
pid_t Spawn(const std::string& program, const fs::path& output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SystemError(error, "cannot start " + program);
  return pid;
}

/// The files of trials, and the commits that they wait for.
class Trials {
 public:
  Trials(const std::string& program, const fs::path& folder) : program_(program), folder_(folder), commits_(folder) {}

  void Run(int trials, int parallel) {
    int started = 0;
    while (started < trials || !running_.empty()) {
      commits_.Commit();
      for (; started < trials && std::ssize(running_) < parallel; ++started) Start(started);
      AwaitSome();
    }
    commits_.Commit();
  }

 private:
  void Start(int trial) {
    const auto attempt = folder_ / fmt::format("{:05}", trial) / "attempt-1";
    MakeDirectories(attempt.parent_path());
    WriteFile(attempt.parent_path() / "plan.json", std::string(300, ' '));
    for (const auto& made : {attempt, attempt.parent_path() / "checkpoints", attempt.parent_path() / "outputs"}) {
      MakeDirectories(made);
    }
    running_.emplace(Spawn(program_, attempt / "rank-00000.log"), attempt);
  }

  /// All that have ended by now, at least one.
  void AwaitSome() {
    for (pid_t pid = ::waitpid(-1, nullptr, 0); pid > 0; pid = ::waitpid(-1, nullptr, WNOHANG)) {
      const auto attempt = running_.extract(pid).mapped();
      WriteFile(attempt / "rank-00000.exit", "0 0\n");
      WriteFile(attempt / "metrics.jsonl", std::string(80, ' '));
    }
  }

  const std::string& program_;
  const fs::path& folder_;
  SqliteCommits commits_;
  std::map<pid_t, fs::path> running_;
};

/// posix_spawn and waitpid, `parallel` at a time; processes a second.
double BareSpawnRate(const std::string& program, int processes, int parallel) {
  return processes / SecondsOf([&] {
           for (int started = 0; started < std::min(parallel, processes); ++started) Spawn(program, "/dev/null");
           for (int ended = 1; ended <= processes; ++ended) {
             ::waitpid(-1, nullptr, 0);
             if (ended + parallel <= processes) Spawn(program, "/dev/null");
           }
         });
}

/// The same, with everything that a trial leaves behind but without supervision. Each process gets its eight files and
/// folders in `folder`. A durable commit to SQLite separates the ends of some from the starts of the next.
double SpawnRateWithFiles(const std::string& program, const fs::path& folder, int processes, int parallel) {
  MakeDirectories(folder);
  return processes / SecondsOf([&] { Trials(program, folder).Run(processes, parallel); });
}

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
