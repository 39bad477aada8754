// slipway bench launch: what Slipway adds to starting a program, beside the floor, in one run.
//
// Sides are interleaved round by round. Every figure is the wall time of whole processes.

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/json.h"
#include "core/process.h"
#include "tests/bench/measure.h"

namespace slipway {
namespace {
namespace fs = std::filesystem;

constexpr int kRounds = 15;
constexpr int kTrials = 400;
constexpr int kTrialRounds = 5;
/// Enough that no core waits for a commit.
const unsigned kTrialsInFlight = 4 * std::max(1u, std::thread::hardware_concurrency());

/// Runs a program to its end, its output thrown away; seconds. Errors: Error when it fails.
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
    throw Error(ErrorKind::kFailed, fmt::format("{} ended with {}", QuoteForShell(words), status.Describe()));
  }
  return elapsed.count();
}

/// A private folder with the specs of this benchmark; removed at the end.
class Workplace {
 public:
  Workplace() {
    // Not /tmp, which may live in memory: there being durable costs nothing.
    const char* directory = std::getenv("TMPDIR");
    std::string pattern = fs::path(directory != nullptr ? directory : "/var/tmp") / "slipway-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) ThrowErrno("cannot create a folder for the benchmark");
    path_ = pattern;
    WriteSpec("one", "launch: {ranks_per_node: 1}");
    WriteSpec("two", "launch: {ranks_per_node: 2}");
    WriteSpec("trials", fmt::format("ensemble:\n  objective: {{metric: objective, goal: maximize}}\n  trials: {}\n"
                                    "  parallel: {}\n  sampler: random\n  space: {{x: {{uniform: [0, 1]}}}}",
                                    kTrials, kTrialsInFlight));
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

  /// A folder for the runs of one round. Nothing is removed before the end: creating files soon after many were deleted
  /// is slow on ext4, and no user does it.
  fs::path NewRuns() { return path_ / ("runs-" + std::to_string(rounds_++)); }

  static std::vector<std::string> RunCommand(const std::string& spec, const fs::path& runs) {
    return {InstallPrefix() / "bin" / "slipway", "--runs-dir", runs, "-q", "run", spec + ".yaml", "--engine", "local"};
  }

 private:
  void WriteSpec(const std::string& name, const std::string& section) const {
    WriteFile(path_ / (name + ".yaml"),
              fmt::format("name: {}\ntrain:\n  command: ['{}']\n  metrics: {{from: stdout, pattern: "
                          "'FoM: (?<objective>\\S+)'}}\n{}\n",
                          name, HelperProgram("bench-support/noop").string(), section));
  }

  fs::path path_;
  int rounds_ = 0;
};

/// Time from the end of the program to the line in events.jsonl that says so; seconds.
double ExitLatency(const fs::path& run) {
  std::ifstream log(run / "attempt-1" / "rank-00000.log");
  std::string word;
  double ended = 0;
  while (log >> word) {
    if (word == "ended:") log >> ended;
  }
  std::ifstream events(run / "events.jsonl");
  std::string line;
  Json last;
  while (std::getline(events, line)) last = Json::parse(line);
  return last.at("unix_time").get<double>() - ended;
}

struct Row {
  std::string what;
  double median;
  double floor;
  std::string unit;
  std::string goal;
  bool reached;
};

Json ToJson(const Row& row) {
  return Json{{"what", row.what},
              {"median", row.median},
              {"floor", row.floor},
              {"unit", row.unit},
              {"ratio", row.median / row.floor},
              {"goal", row.goal},
              {"reached", row.reached}};
}

/// Two sides in turn, `rounds` times after one warm-up each.
std::pair<double, double> Interleave(int rounds, const std::function<double()>& ours,
                                     const std::function<double()>& floor) {
  ours();
  floor();
  std::vector<double> ours_all, floor_all;
  for (int i = 0; i < rounds; ++i) {
    ours_all.push_back(ours());
    floor_all.push_back(floor());
  }
  return {bench::Median(ours_all), bench::Median(floor_all)};
}

std::vector<std::string> BareMpirun(const std::string& program) {
  std::vector<std::string> words{"mpirun"};
  if (::geteuid() == 0) words.push_back("--allow-run-as-root");
  words.insert(words.end(), {"--oversubscribe", "-n", "2", program});
  return words;
}

double TrialRate(double seconds) { return kTrials / seconds; }

std::vector<Row> Measure(Workplace& place) {
  const std::string noop = HelperProgram("bench-support/noop");
  std::vector<Row> rows;
  std::vector<double> latencies;

  const auto run = [&](const std::string& spec, const fs::path& runs) {
    return TimeOf(Workplace::RunCommand(spec, runs), place.path());
  };
  // First, since it makes thousands of files: ext4 is slow at that while it remembers recently deleted ones, and the
  // runs below replace theirs.
  const auto run_trials = [&] { return run("trials", place.NewRuns()); };
  const auto spawn_trials = [&] {
    double total = 0;
    for (int i = 0; i < kTrials; ++i) total += TimeOf({noop}, place.path());
    return total;
  };
  const auto [trials, spawns] = Interleave(kTrialRounds, run_trials, spawn_trials);
  rows.push_back({"durable no-op trials", TrialRate(trials), TrialRate(spawns), "1/s",
                  ">= 40 % of the bare posix_spawn rate", TrialRate(trials) >= 0.4 * TrialRate(spawns)});

  const auto run_one = [&] {
    const auto runs = place.NewRuns();
    const auto seconds = run("one", runs);
    latencies.push_back(ExitLatency(fs::directory_iterator(runs)->path()));
    return seconds;
  };
  const auto [one, exec] = Interleave(kRounds, run_one, [&] { return TimeOf({noop}, place.path()); });
  rows.push_back(
      {"one-rank run", one * 1e3, exec * 1e3, "ms", "<= 10 ms over a bare fork and exec", one - exec <= 0.010});

  const auto run_two = [&] { return run("two", place.NewRuns()); };
  const auto [two, mpirun] = Interleave(kRounds, run_two, [&] { return TimeOf(BareMpirun(noop), place.path()); });
  rows.push_back({"two-rank run", two * 1e3, mpirun * 1e3, "ms", "<= 30 ms over a bare mpirun", two - mpirun <= 0.030});

  rows.push_back({"an exit is seen after", bench::Median(latencies) * 1e3, exec * 1e3, "ms", "<= 100 ms",
                  bench::Median(latencies) <= 0.1});
  return rows;
}

Json Document(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(ToJson(row));
  return Json{{"schema", "slipway.bench.launch/1"},
              {"machine", bench::DescribeMachine()},
              {"rounds", kRounds},
              {"trials", kTrials},
              {"trials_in_flight", kTrialsInFlight},
              {"rows", list}};
}

void Print(const std::vector<Row>& rows, bool json) {
  if (json) {
    std::puts(Document(rows).dump(2).c_str());
    return;
  }
  for (const auto& row : rows) {
    fmt::print("{:<24} {:9.2f} {:<4} floor {:9.2f} {:<4} goal {}: {}\n", row.what, row.median, row.unit, row.floor,
               row.unit, row.goal, row.reached ? "reached" : "missed");
  }
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  const auto asked = [&](std::string_view option) { return std::find(argv + 1, argv + argc, option) != argv + argc; };
  if (asked("--help")) {
    std::puts("Measures how fast programs, ranks and trials start.\n\nUsage: slipway bench launch [--json]");
    return 0;
  }
  const bool json = asked("--json");
  try {
    slipway::Workplace place;
    slipway::Print(slipway::Measure(place), json);
    return 0;
  } catch (const slipway::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  }
}
