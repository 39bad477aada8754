/// What `gradients` of the configuration, and slipway_configure_team, say about a team.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/words.h"
#include "runtime/selection/gpu_exchange.h"
#include "runtime/slipway.h"

namespace slipway::runtime {

/// Of `lag`, in the configuration, in a spec and in slipway_configure_team. Each step on its way takes as much memory
/// as the gradients.
inline constexpr int kMostLag = 1000;

/// A number of steps, or a share of all of them.
struct StepShare {
  std::int64_t steps = 0;
  std::optional<double> share;  ///< 0 to 1

  /// Errors: RuntimeError(ARGUMENT) for a share of an unknown total (0).
  std::int64_t Of(std::int64_t total, const char* name) const;
};

/// Where the GPUs of a node combine: who waits for a GPU before another one goes on.
enum class GpuWaits {
  kCpu,     ///< the CPU, which then meets the other ranks
  kEvents,  ///< the other GPU, by an event of both processes
};
WordTable<GpuWaits> WordsOf(GpuWaits);  ///< for SLIPWAY_GPU_WAIT and comm.json
/// Errors: RuntimeError(ARGUMENT) naming SLIPWAY_GPU_WAIT.
GpuWaits GpuWaitsFrom(const std::string& word);

/// How many threads of a rank combine what comes from GPUs.
/// Errors: RuntimeError(ARGUMENT) naming SLIPWAY_GPU_SUM_THREADS.
int GpuSumThreadsFrom(const std::string& word);

struct TeamSettings {
  int lag = 0;  ///< 0: sync
  StepShare sync_first;
  StepShare sync_last;
  int accumulate = 1;
  std::optional<slipway_dtype> wire;  ///< float32 tensors travel in this 16-bit format
  double clip_norm = 0;               ///< 0: not at all
  bool check_finite = false;
  std::int64_t bucket_bytes = 4 << 20;
  slipway_op op = SLIPWAY_MEAN;
  GpuExchange gpu_exchange = GpuExchange::kAuto;
  GpuWaits gpu_waits = GpuWaits::kCpu;
  bool any_bits = false;            ///< sums need not have the same bits in every run
  bool gpu_mpi_has_worked = false;  ///< in an earlier job, so that `auto` may try MPI on memory of GPUs
};

/// `settings` with what `json` changes. `others`: names that may stand there as well, and are read elsewhere.
/// Errors: RuntimeError(ARGUMENT) naming the field; for an unknown name, with the nearest valid one.
TeamSettings WithChanges(TeamSettings settings, const Json& json, std::span<const std::string_view> others = {});

}  // namespace slipway::runtime
