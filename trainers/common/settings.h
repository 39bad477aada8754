/// What the launcher tells the trainer through the environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace trainers {

struct Settings {
  bool has_test_data = false;
  std::map<std::string, std::string> parameters;  ///< of SLIPWAY_PARAMS, as text
  double validation_fraction = 0.1;
  std::uint64_t validation_seed = 1;
  std::int64_t accumulate = 1;               ///< backward passes for one exchange: gradients.accumulate
  std::string unscalable;                    ///< a setting of the exchange that scaled losses do not go with, or empty
  std::optional<double> checkpoint_every_s;  ///< beside the one at the end of each epoch
  bool checkpoints = false;                  ///< there is a place for them
  std::filesystem::path run_folder;          ///< for predictions; empty: none are written
  std::int64_t repeat = 0;                   ///< which of the runs of its configuration; another seed for each
  std::string resource;                      ///< what the scheduler of an ensemble counts: "epoch", "step", a metric
  std::optional<double> limit;               ///< how far this trial may go now, in that
};

/// Errors: UsageError naming the variable, and what should have set it or what is wrong with its value.
Settings ReadSettings();

}  // namespace trainers
