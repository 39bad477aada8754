/// From how long the ways of shared memory took on a machine to a table of the fastest. The launcher reads it, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/selection/algorithm_table.h"
#include "runtime/selection/fastest_by_size.h"

namespace slipway::runtime {

using WayTime = TimeOfWay<SharedWay>;

/// Larger messages are not combined by SharedWay::kTogether.
inline constexpr std::int64_t kMostTogether = 4096;

/// FastestBySize() in the syntax of AlgorithmTable. kTogether ends at kMostTogether at the latest. Empty: "shared".
std::string FastestWays(std::span<const WayTime> times);

/// The winner of the largest size; kByRule of none.
SharedWay FastestOfLargest(std::span<const WayTime> times);

/// What the winners depend on.
struct NodeKind {
  std::string processor;
  int cores = 0;  ///< of the machine, not only those this process may use
  int ranks = 0;  ///< on the node
  bool direct_copies = true;
  std::string version;  ///< of libslipway

  bool operator==(const NodeKind&) const = default;
};

/// Of the node that this process runs on.
NodeKind KindOfThisNode(int ranks, bool direct_copies, std::string_view version);

/// Whether it is a document slipway.ways/1.
bool HoldsWays(std::string_view json);

/// The table for a kind of node in a document slipway.ways/1. Nothing when there is none, or the document is no such.
std::optional<std::string> RecallWays(std::string_view json, const NodeKind& kind);
/// The document with the table for a kind of node; a text that is no such document is replaced.
std::string RememberWays(std::string_view json, const NodeKind& kind, const std::string& table);

/// Whether the document says that this MPI has added up memory of GPUs. `mpi`: its version, and between how many nodes.
bool RecallGpuMpi(std::string_view json, const std::string& mpi);
/// The document with that; a text that is no such document is replaced.
std::string RememberGpuMpi(std::string_view json, const std::string& mpi);

}  // namespace slipway::runtime
