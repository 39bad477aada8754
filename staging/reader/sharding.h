/// Which records a rank reads, and in which order: pure functions, the same on every platform and rank.
///
/// Steps of a trainer: Split() once, then for every epoch ShardOf(EpochOrder(split.train, seed, epoch), rank, world).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace slipway::staging {

using RecordNumbers = std::vector<std::uint64_t>;

struct RecordSplit {
  RecordNumbers train;       ///< ascending
  RecordNumbers validation;  ///< ascending
};

/// Puts `fraction` of the records aside for validation (rounded; at least one of each side when 0 < fraction < 1 and
/// there are two records), chosen by `seed`.
/// Errors: Error(kUsage) unless 0 <= fraction < 1.
RecordSplit Split(std::uint64_t record_count, double fraction, std::uint64_t seed);

/// `records` shuffled (Fisher-Yates on SplitMix64): another order for every seed and epoch.
RecordNumbers EpochOrder(std::span<const std::uint64_t> records, std::uint64_t seed, std::uint64_t epoch);

/// The records of one rank: every `world`-th of `order`, starting at `rank`, the same number on every rank. The last
/// order.size() % world records are left out of this epoch; another epoch's order leaves out others.
/// With batches of b records on each rank, step s reads order[s*b*world, (s+1)*b*world) whatever the world is: one and
/// two ranks at equal global batch see the same batches.
/// Errors: Error(kUsage) unless 0 <= rank < world.
RecordNumbers ShardOf(std::span<const std::uint64_t> order, int rank, int world);

}  // namespace slipway::staging
