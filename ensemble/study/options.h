/// The options of an ensemble.
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
  /// The budget of configurations. A resumed ensemble may raise or lower it. If as many have begun already, no more
  /// begin, and those that have begun run to their end.
  std::int64_t trials = 1;
  int repeats = 1;                        ///< runs of each configuration
  int parallel = 1;                       ///< attempts at a time
  std::vector<AllocatedNode> nodes = {};  ///< the allocation that attempts are packed into; empty: they are not placed
  Need need = {};                         ///< cores, GPUs and nodes of one attempt
  std::string sampler = "auto";           ///< one of SamplerNames()
  std::uint64_t seed = 1;
  int grid_points = 3;              ///< of uniform and log ranges, for `grid`
  int retries = 0;                  ///< how often a failed trial is tried again
  std::optional<int> max_failures;  ///< more failed trials end the ensemble; nothing: no limit
  /// No further trial begins after this many trials in a row that failed alike (same_failure.h). 0: no limit.
  int stop_on_same_failure = 0;
  std::optional<double> trial_time_limit;    ///< seconds of one trial, over all its attempts
  std::optional<double> manager_time_limit;  ///< seconds of this run of the manager
  Budget budget;
  SchedulerSettings scheduler = {};
  std::string resource = "epoch";  ///< what the scheduler counts: "step", "epoch", or the name of a metric
  StepSource steps = StepSource::kProgram;
  SearchSpace space;
  std::vector<Point> points;  ///< for the first trials; they may leave parameters out
  std::string spec_hash;
  std::filesystem::path requests_in = {};  ///< run folder whose requests are carried out; empty: none
};

}  // namespace slipway::ensemble
