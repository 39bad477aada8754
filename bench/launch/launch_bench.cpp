// slipway bench launch: what Slipway adds to starting a program, beside the floor, in one run.
//
// Sides are interleaved round by round. Every figure is the wall time of whole processes.

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/launch/parts.h"
#include "bench/launch/slurm_rows.h"
#include "bench/measure.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/json.h"
#include "core/process.h"

namespace slipway::bench {
namespace {
namespace fs = std::filesystem;

constexpr int kRounds = 15;
constexpr int kTrialRounds = 5;
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

Json ToJson(const Row& row) {
  return Json{{"what", row.what},
              {"median", row.median},
              {"floor", row.floor},
              {"unit", row.unit},
              {"ratio", row.median / row.floor},
              {"goal", row.goal},
              {"reached", row.reached}};
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

  rows.push_back(
      {"an exit is seen after", Median(latencies) * 1e3, exec * 1e3, "ms", "<= 100 ms", Median(latencies) <= 0.1});
  return rows;
}

Json Document(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(ToJson(row));
  return Json{{"schema", "slipway.bench.launch/1"},
              {"machine", DescribeMachine()},
              {"rounds", kRounds},
              {"trials", kTrials},
              {"trials_in_flight", TrialsInFlight()},
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
}  // namespace slipway::bench

int main(int argc, char** argv) {
  const auto asked = [&](std::string_view option) { return std::find(argv + 1, argv + argc, option) != argv + argc; };
  if (asked("--help")) {
    std::puts(
        "Measures how fast programs, ranks and trials start.\n\n"
        "Usage: slipway bench launch [--slurm] [--json]\n\n"
        "  --slurm  Within an allocation: trials through the agents beside steps of srun. Elsewhere: from submission "
        "to\n"
        "           the first step, beside a script for sbatch. TMPDIR must name a folder that all nodes see.");
    return 0;
  }
  const bool json = asked("--json");
  try {
    namespace bench = slipway::bench;
    bench::Workplace place;
    bench::Print(asked("--slurm") ? bench::MeasureSlurm(place) : bench::Measure(place), json);
    return 0;
  } catch (const slipway::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  }
}
