/// Where the time of a run's nodes went.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/run_folder/energy_record.h"
#include "launcher/run_folder/gpu_record.h"

namespace slipway::launcher {

inline constexpr double kSecondsOfHour = 3600;

struct RunView;

struct AccountingPart {
  std::string part;  ///< "staging", "start", "input", "compute", "wait", "exchange", "checkpoint", "lost", "idle"
  double node_seconds = 0;
};

/// Nodes count while a manager stages or trains; with trials as jobs, while these jobs run. Its parts sum to
/// `node_seconds`.
struct Accounting {
  double node_seconds = 0;
  double queue_s = 0;  ///< waited in the queue; no node was held
  std::vector<AccountingPart> parts;
  double node_hours = 0;
  double core_hours = 0;
  double gpu_hours = 0;
  Energy energy;       ///< of devices that could be read
  std::string advice;  ///< one line about the size of the run; empty: none is clear
  GpuUse gpu_use = {};
};

/// What a run holds of each node, and how many more nodes.
struct NodeShare {
  double cores = 1;              ///< of a node
  double gpus = 0;               ///< of a node
  int spare_nodes = 0;           ///< held beside those that work
  bool trials_are_jobs = false;  ///< the run holds no node itself
};

/// The last time at which something is known to have happened in the run.
double LastSign(const RunView& run);
/// When the run ended: its last sign for one that was lost, `now` for one that goes on.
double EndOf(const RunView& run, double now);

/// Pure. `now`: for what still runs. Of a lost run, time counts up to its last sign of life.
///
/// - `lost`: of attempts that failed, were cancelled or requeued, from their last checkpoint (or begin) to their end.
/// - `start`: from the begin of an attempt to its first step.
/// - `exchange`: as long as even the rank waits that waits least.
/// - `wait`: what ranks wait longer than that, for slower ranks.
/// - `idle`: nodes without a trial, spare nodes; of single runs the time between attempts.
///
/// Steps are divided as the comm.json of the last attempt says; without it, they count as compute. Only checkpoints
/// that are still there count as such.
Accounting AccountFor(const RunView& run, const NodeShare& share, double now);

/// One node, of which a program that is no run held `share` for so long: `compute`, or `lost`.
Accounting AccountForProgram(double seconds, const NodeShare& share, bool lost);

/// Together, without advice and the use of GPUs.
Accounting SumOf(std::span<const Accounting> all);

}  // namespace slipway::launcher
