/// The parts of `slipway bench ensemble`. Each takes its sides in turns, round by round, and tells medians.
/// Errors of all: what the ensemble and the launcher throw; Error(kFailed) when a side did not do its work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::bench {

/// What stands beside a figure in the same run.
struct Beside {
  std::string what;
  double value = 0;         ///< in the unit of its figure
  bool is_opponent = true;  ///< a limit or a peer, which has a ratio; false: more about the same side
};

/// What a benchmark found, and its goal.
struct Figure {
  std::string part;
  std::string what;
  double value = 0;
  std::string unit;
  std::vector<Beside> beside = {};
  std::string goal = {};  ///< for people; empty: none
  bool reached = true;
};

struct PartOptions {
  std::filesystem::path folder;  ///< an empty one of its own, on a disk
  int rounds = 5;                ///< of all sides; of MeasureKills the kills
  std::uint64_t seed = 1;        ///< of the times of the kills
};

/// Durable trials a second through store and manager with an objective that costs nothing.
std::vector<Figure> MeasureThroughput(const PartOptions& options);
/// Trials a second with real child processes, through `slipway run`.
std::vector<Figure> MeasureSpawn(const PartOptions& options);
/// Resident memory of the manager while an ensemble grows. To be measured first: it is of a child, which begins with
/// the memory of this process.
std::vector<Figure> MeasureMemory(const PartOptions& options);
/// Seconds until a large book is open and its trials are known.
std::vector<Figure> MeasureReopen(const PartOptions& options);
/// Time of an ask of each sampler after 200, 1,000 and 10,000 trials.
std::vector<Figure> MeasureAsk(const PartOptions& options);
/// What is lost, or done twice, when the manager is killed at every place and at any time.
std::vector<Figure> MeasureKills(const PartOptions& options);

}  // namespace slipway::bench
