/// The plan of the gradient exchange, as far as it is known before the ranks start.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/spec/gpu_exchange.h"
#include "launcher/spec/spec.h"
#include "runtime/selection/algorithm_table.h"
#include "runtime/selection/bits.h"

namespace slipway::launcher {

struct ExchangePlan {
  runtime::Placement placement;
  runtime::AlgorithmTable table = runtime::AlgorithmTable::Default({});
  std::filesystem::path tuned;  ///< absolute; the file of tuned algorithms that was read, or empty
  runtime::BitsBasis bits;
  std::filesystem::path ways;  ///< absolute; where ranks keep which way of shared memory is fastest, or empty
  std::string measured;        ///< what that file has for a node like this one, in the table's syntax, or empty
  GpuExchangePlan gpu;         ///< of tensors in GPU memory
  bool has_gpus = false;       ///< ranks have GPUs of their own
  /// No bits are promised: NCCL or MPI adds up, for ranks with GPUs of their own or because the experiment says so.
  /// Where only SLIPWAY_GPU_EXCHANGE says so, ranks without GPUs keep the promise for tensors in CPU memory.
  bool library_adds_up = false;
};

/// The plan that the ranks will follow. Later entries override earlier ones:
/// - the table that ships;
/// - the file in SLIPWAY_ALGORITHM_TABLE, else `algorithms.json` beside the user's settings, if it exists;
/// - `gradients.algorithms`;
/// - SLIPWAY_ALGORITHMS.
///
/// Ranks of one node measure the ways of shared memory, unless SLIPWAY_WAYS, else `ways.json` beside the user's
/// settings, has them.
///
/// SLIPWAY_RANKS_PER_NODE makes smaller nodes, and SLIPWAY_GPU_EXCHANGE chooses, as they do for the ranks.
/// Errors: Error(kUsage) naming the wrong file or variable; SystemError for a file that cannot be read.
ExchangePlan PlanExchange(const Spec& spec);

/// The nodes that the ranks see, and how the CPU adds up there. Without the maker and the variable.
/// Errors: those of PlanExchange() of tables of algorithms.
GpuSurroundings SurroundingsOfRanks(const Spec& spec);

/// How tensors in GPU memory are exchanged, for `slipway plan`.
std::string Describe(const GpuExchangePlan& gpu);
/// For `slipway plan`.
std::string Describe(const ExchangePlan& exchange, const GradientsSpec& gradients);
/// The member `exchange` of plan.json.
Json ToJson(const ExchangePlan& exchange, const GradientsSpec& gradients);

/// The values of `stored`, a member `exchange` of plan.json, that give other bits than `now`: 'algorithms was "a", now
/// "b"'. Empty when there are none, when the spec asks for no determinism, and for documents without such a record.
std::vector<std::string> ChangesOfBits(const Json& stored, const ExchangePlan& now);

}  // namespace slipway::launcher
