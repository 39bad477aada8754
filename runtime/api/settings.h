/// What slipway_init reads from its configuration and from the environment.
#pragma once

#include <optional>
#include <string>

#include "runtime/checkpoint/checkpoints.h"
#include "runtime/exchange/settings.h"
#include "runtime/selection/algorithm_table.h"
#include "runtime/trace/step_trace.h"
#include "runtime/watch/watch.h"

namespace slipway::runtime {

struct JobSettings {
  Checkpoints::Settings checkpoints;
  TeamSettings gradients;
  WatchSettings watch;
  TraceSettings trace;
  bool canonical = false;
  Network network = Network::kUnknown;  ///< between nodes
  std::string algorithms;               ///< text of the algorithm table; empty: the defaults
  std::string shared;                   ///< text of what has to be the same on all ranks
  std::string attempt_folder;           ///< where comm.json, trace.json and check sums go; empty: nowhere
};

/// `config`: JSON text, or null to read SLIPWAY_CONFIG.
/// Errors: RuntimeError(ARGUMENT) saying what is wrong with the configuration.
JobSettings ReadSettings(const char* config);

/// Errors: RuntimeError(ARGUMENT) naming the first of SLIPWAY_RANKS_PER_NODE, SLIPWAY_TORCH_MEMORY and
/// SLIPWAY_MPI_CHECK whose value means nothing.
void RequireKnownValues();

/// Parses JSON of unknown origin. Errors: RuntimeError(ARGUMENT): `refusal`, and the reason.
Json ParseJson(const std::string& text, const std::string& refusal);

/// Bytes of shared memory that this process may use: SLIPWAY_SHARED_MEMORY_LIMIT (bytes with a unit; 0: none), or all.
/// Nothing when that is no size.
std::optional<std::int64_t> SharedMemoryLimit();

}  // namespace slipway::runtime
