/// The throughput metric of MLPerf HPC: how fast a system trains many models, from the logs of its trials.
///
/// ```
///   S  scale of an instance: its nodes times the accelerators of a node; a node without accelerators counts as one
///   T  scale of the system: the same for all nodes that the trials shared
///   M  models trained, of which `converged` count
///   time to train all: from the first run_start of any instance to the last run_stop of those that converged
/// ```
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace slipway::launcher {

/// One trial, from its logs. Times in milliseconds since 1970.
struct LoggedRun {
  std::int64_t number = 0;
  std::filesystem::path log;  ///< the last of its logs
  std::int64_t scale = 1;
  std::int64_t start = 0;  ///< in the first of its logs
  std::optional<std::int64_t> stop;
  bool converged = false;
};

/// What the trials of a run shared.
struct LoggedSystem {
  std::optional<std::int64_t> scale;  ///< nothing where each trial was a job
  double staging_s = 0;
};

/// The trials of a run that have begun, by number; none where no logs were written.
std::vector<LoggedRun> ReadLoggedRuns(const std::filesystem::path& run_folder);
LoggedSystem ReadLoggedSystem(const std::filesystem::path& run_folder);

struct Throughput {
  std::int64_t system_scale = 0;    ///< T; without a shared allocation the peak of running trials
  std::int64_t instance_scale = 0;  ///< S
  std::size_t models = 0;           ///< M, as begun
  std::size_t converged = 0;
  std::optional<double> time_to_train_all_s;
  std::optional<double> models_per_minute;
  double staging_s = 0;
  double start_spread_s = 0;  ///< between the first and the last run_start
  /// Seconds to train a model, among those that converged.
  double fastest_s = 0;
  double median_s = 0;
  double slowest_s = 0;
  std::string remark;  ///< why the result breaks the rules; empty when it does not
};

/// Pure. `runs` is not empty.
Throughput MeasureThroughput(const std::vector<LoggedRun>& runs, const LoggedSystem& system);

}  // namespace slipway::launcher
