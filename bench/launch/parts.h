/// What the sides of the launch benchmark share: a workplace, rows, and taking turns.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_folder.h"

namespace slipway::bench {

inline constexpr int kTrials = 400;
/// Enough that no core waits for a commit.
unsigned TrialsInFlight();

/// Runs a program to its end, its output thrown away; seconds. Errors: Error when it fails.
double TimeOf(const std::vector<std::string>& words, const std::filesystem::path& directory);

/// A private folder with the specs of this benchmark; removed at the end.
class Workplace {
 public:
  Workplace();

  const std::filesystem::path& path() const { return folder_.path(); }
  /// A folder for the runs of one round. Nothing is removed before the end: creating files soon after many were deleted
  /// is slow on ext4, and no user does it.
  std::filesystem::path NewRuns() { return path() / ("runs-" + std::to_string(rounds_++)); }
  /// `slipway run`, of the spec with this name: "one", "two" ranks, or "trials".
  static std::vector<std::string> RunCommand(const std::string& spec, const std::filesystem::path& runs,
                                             const std::string& engine = "local");

 private:
  void WriteSpec(const std::string& name, const std::string& section) const;

  BenchFolder folder_;
  int rounds_ = 0;
};

struct Row {
  std::string what;
  double median;
  double floor;
  std::string unit;
  std::string goal;
  bool reached;
};

/// Two sides in turn, `rounds` times after one warm-up each; their medians.
std::pair<double, double> Interleave(int rounds, const std::function<double()>& ours,
                                     const std::function<double()>& floor);

}  // namespace slipway::bench
