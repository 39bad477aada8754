/// What an ensemble shall do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/budget.h"
#include "ensemble/model/packer.h"
#include "ensemble/model/records.h"
#include "ensemble/schedulers/scheduler.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

struct EnsembleOptions {
  std::vector<Objective> objectives;  ///< metrics of validation data; the first one ranks
  /// The budget of configurations. A resumed ensemble may raise it, or lower it: where as many have begun, no more
  /// begin, and what has begun comes to its end.
  std::int64_t trials = 1;
  int repeats = 1;                        ///< runs of each configuration
  int parallel = 1;                       ///< attempts at a time
  std::vector<AllocatedNode> nodes = {};  ///< the allocation that attempts are packed into; empty: they are not placed
  Need need = {};                         ///< of one attempt
  std::string sampler = "auto";           ///< one of SamplerNames()
  std::uint64_t seed = 1;
  int grid_points = 3;              ///< of uniform and log ranges, for `grid`
  int retries = 0;                  ///< failures of one trial that are forgiven
  std::optional<int> max_failures;  ///< more failed trials end the ensemble; none: all may fail
  /// So many trials that fail alike from the beginning, or could not run one after the other, end the ensemble before
  /// they have cost it all others; 0: never.
  int stop_on_same_failure = 0;
  std::optional<double> trial_time_limit;    ///< seconds of one trial, all its attempts together
  std::optional<double> manager_time_limit;  ///< seconds of this run of the manager
  Budget budget;
  SchedulerSettings scheduler = {};
  std::string resource = "epoch";  ///< what the scheduler counts: "step", "epoch", or the name of a metric
  SearchSpace space;
  std::vector<Point> points;  ///< of the first trials; they may leave parameters out
  std::string spec_hash;
  std::filesystem::path requests_in = {};  ///< run folder whose requests are taken up; empty: none
};

}  // namespace slipway::ensemble
