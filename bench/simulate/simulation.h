/// One allreduce of libslipway on a simulated machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/simulate/platform.h"
#include "runtime/selection/algorithm_table.h"

namespace slipway::bench {

struct Job {
  Machine machine;
  int ranks = 1;
  int ranks_per_node = 1;  ///< consecutive ranks lie on the same node, and the job on the machine's first nodes
  std::int64_t bytes = 0;
  runtime::Choice choice;

  int nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
};

/// What it takes; counters are those of the rank with the most.
struct Outcome {
  double seconds = 0;  ///< simulated, from the common start until the last rank has its result
  std::int64_t steps = 0;
  std::int64_t messages = 0;
  std::int64_t bytes_sent = 0;
  double processor_seconds = 0;  ///< real, for the simulation
  std::int64_t memory_bytes = 0;
};

/// SimGrid's options, as NAME:VALUE.
std::vector<std::string> Settings();

/// Simulates in a process of its own. Nothing when that takes longer than `limit`.
/// Errors: Error(kFailed) when the simulation ends before the job does; Error(kUsage) for an algorithm without
///         messages.
std::optional<Outcome> Simulate(const Job& job, std::chrono::seconds limit);

}  // namespace slipway::bench
