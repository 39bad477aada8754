/// Where the time of a run's nodes went.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace slipway::launcher {

struct RunView;

struct AccountingPart {
  std::string part;  ///< "staging", "start", "input", "compute", "wait", "exchange", "checkpoint", "lost", "idle"
  double node_seconds = 0;
};

/// Nodes count from the begin of staging to the end of the run. Its parts sum to `node_seconds`.
struct Accounting {
  double node_seconds = 0;
  double queue_s = 0;  ///< waited in the queue; no node was held
  std::vector<AccountingPart> parts;
  double node_hours = 0;
  double core_hours = 0;
  double gpu_hours = 0;
  std::optional<double> energy_j;  ///< of devices that could be read
  std::string advice;              ///< one line about the size of the run; empty: none is clear
};

/// What a rank and a node hold.
struct NodeShare {
  double cores = 1;  ///< of a node
  double gpus = 0;   ///< of a node
};

/// Pure. `now`: for what still runs.
///
///   lost        attempts that failed, from their last checkpoint (or begin) to their end
///   start       from the begin of an attempt to its first step
///   idle        nodes without a trial; of single runs the time between attempts
///
/// Steps are divided as comm.json says; without it, they count as compute.
Accounting AccountFor(const RunView& run, const NodeShare& share, double now);

}  // namespace slipway::launcher
