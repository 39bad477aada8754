#include "bench/launch/slurm_rows.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <thread>

#include "bench/measure.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace fs = std::filesystem;

namespace {

constexpr int kSlurmRounds = 5;
constexpr int kSubmissions = 11;
constexpr int kSteps = 64;
constexpr std::size_t kInFlight = 8;
constexpr int kNodes = 2;
constexpr int kRanksPerNode = 2;
/// So many that the start of the run is a small part.
constexpr int kTrialsOfRun = 2'000;
constexpr auto kPatience = std::chrono::minutes(2);

std::string Noop() { return HelperProgram("bench-support/noop"); }
std::string FirstStep() { return HelperProgram("bench-support/first-step"); }

std::vector<std::string> With(std::vector<std::string> words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
  return words;
}

/// Steps a second.
double RateOfSteps(const fs::path& directory) {
  const auto null = OpenFile("/dev/null", O_WRONLY);
  SpawnOptions options;
  options.argv = {"srun", "--nodes=1", "--ntasks=1", "--exact", "--mem=0", "--input=none", Noop()};
  options.working_directory = directory;
  options.stdout_fd = null.get();
  options.stderr_fd = null.get();
  std::deque<ChildProcess> running;
  const auto started = SystemClock().Steady();
  for (int step = 0; step < kSteps; ++step) {
    if (running.size() == kInFlight) {
      running.front().Wait();
      running.pop_front();
    }
    running.push_back(ChildProcess::Spawn(options));
  }
  for (auto& step : running) step.Wait();
  const Seconds elapsed = SystemClock().Steady() - started;
  return kSteps / elapsed.count();
}

/// Trials a second, of a whole run: its agents, its book and its end included.
double RateOfTrials(Workplace& place, const std::string& nodes) {
  const auto run = With(Workplace::RunCommand("trials", place.NewRuns(), "slurm"),
                        {"--set", "launch.nodes=" + nodes, "--set", fmt::format("ensemble.parallel={}", kInFlight),
                         "--set", fmt::format("ensemble.trials={}", kTrialsOfRun)});
  return kTrialsOfRun / TimeOf(run, place.path());
}

std::vector<Row> MeasureTrials(Workplace& place) {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  const std::string count = nodes != nullptr ? nodes : "1";
  const auto [trials, steps] = Interleave(
      kSlurmRounds, [&] { return RateOfTrials(place, count); }, [&] { return RateOfSteps(place.path()); });
  return {{fmt::format("trials on {} nodes", count), trials, steps, "1/s", ">= 8 times the rate of steps of srun",
           trials >= 8 * steps}};
}

/// What the program wrote: when it ended, which is when it began. 0: not yet.
double EndIn(const fs::path& log) {
  std::ifstream file(log);
  std::string word;
  double ended = 0;
  while (file >> word) {
    if (word == "ended:") file >> ended;
  }
  return ended;
}

/// The earliest log below `folder` with an end in it; waits.
double FirstEndBelow(const fs::path& folder) {
  const auto deadline = SystemClock().Steady() + kPatience;
  while (SystemClock().Steady() < deadline) {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
      const bool is_log = entry.path().filename() == "rank-00000.log" || entry.path().filename() == "by-hand.log";
      if (const double ended = is_log ? EndIn(entry.path()) : 0; ended > 0) return ended;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error(ErrorKind::kFailed, "a job has not started within two minutes", "see why it waits: squeue");
}

double Now() { return UnixSeconds(SystemClock().Now()); }

double SecondsOfSubmission(Workplace& place) {
  const auto runs = place.NewRuns();
  const double begun = Now();
  TimeOf(With(Workplace::RunCommand("one", runs, "slurm"), {"--set", fmt::format("launch.nodes={}", kNodes), "--set",
                                                            fmt::format("launch.ranks_per_node={}", kRanksPerNode),
                                                            "--set", fmt::format("train.command=['{}']", FirstStep())}),
         place.path());
  return FirstEndBelow(runs) - begun;
}

double SecondsOfScript(Workplace& place) {
  const auto folder = place.NewRuns();
  fs::create_directories(folder);
  WriteFile(folder / "job.sh", fmt::format("#!/bin/bash\nsrun --mpi=pmix {}\n", FirstStep()));
  const double begun = Now();
  TimeOf({"sbatch", "--wait", fmt::format("--nodes={}", kNodes), fmt::format("--ntasks-per-node={}", kRanksPerNode),
          "--output=" + (folder / "by-hand.log").string(), folder / "job.sh"},
         place.path());
  return FirstEndBelow(folder) - begun;
}

std::vector<Row> MeasureSubmission(Workplace& place) {
  const auto [ours, script] = Interleave(
      kSubmissions, [&] { return SecondsOfSubmission(place); }, [&] { return SecondsOfScript(place); });
  return {{fmt::format("from submission to the first step on {} nodes", kNodes), ours, script, "s",
           "<= 1.3 times a script for sbatch with srun --mpi=pmix", ours <= 1.3 * script}};
}

}  // namespace

std::vector<Row> MeasureSlurm(Workplace& place) {
  return std::getenv("SLURM_JOB_ID") != nullptr ? MeasureTrials(place) : MeasureSubmission(place);
}

}  // namespace slipway::bench
