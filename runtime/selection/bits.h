/// What fixes the bits of an exchange's result, and a name for it. Also read by the launcher, for plan.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "runtime/selection/algorithm_table.h"

namespace slipway::runtime {

/// Two jobs with equal ones get the same bits from the same gradients, whatever the arrival order.
struct BitsBasis {
  int ranks = 1;
  int ranks_per_node = 1;  ///< 0: the placement does not matter
  std::string algorithms;  ///< those that are used, in the syntax of AlgorithmTable; or "canonical"
  std::int64_t bucket_bytes = 0;
  std::string version;  ///< of libslipway

  bool operator==(const BitsBasis&) const = default;
};

/// `canonical` order depends on neither the placement nor the table. With uneven nodes `ranks_per_node` is that of the
/// fullest.
BitsBasis BasisOfBits(const AlgorithmTable& table, int ranks, int ranks_per_node, bool canonical,
                      std::int64_t bucket_bytes, std::string_view version);

/// Whether the CPU adds up messages of every size in the order of the ranks, as the GPUs of a node do.
bool AddsInOrderOfRanks(const AlgorithmTable& table, bool canonical);

/// 16 hex digits.
std::string HashOf(const BitsBasis& basis);

/// The member `bits` of plan.json and comm.json: each part, and the hash.
Json ToJson(const BitsBasis& basis);

}  // namespace slipway::runtime
