/// Which records a rank reads, and in which order: pure functions, the same on every platform and rank.
///
/// BatchPlan joins them: Split() once, then for every epoch ShardOf(EpochOrder(split.train, seed, epoch), rule).
/// An *order* is the sequence of all records of an epoch. A *position* counts the records of it that all ranks together
/// have read. Neither depends on the number of ranks, so a job that continues with another number reads what is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace slipway::staging {

using RecordNumbers = std::vector<std::uint64_t>;

struct RecordSplit {
  RecordNumbers train;       ///< ascending
  RecordNumbers validation;  ///< ascending
};

/// Puts `fraction` of the records aside for validation, chosen by `seed`. The number is rounded. Each side gets at
/// least one record when 0 < fraction < 1 and there are two records.
/// Errors: Error(kUsage) unless 0 <= fraction < 1.
RecordSplit Split(std::uint64_t record_count, double fraction, std::uint64_t seed);

/// How many records Split() puts aside. This number and the rest both grow with the number of records.
std::uint64_t ValidationCount(std::uint64_t record_count, double fraction);

/// `records` shuffled (Fisher-Yates on SplitMix64): another order for every seed and epoch.
RecordNumbers EpochOrder(std::span<const std::uint64_t> records, std::uint64_t seed, std::uint64_t epoch);

/// The position of a job in its data: what a checkpoint keeps.
struct EpochPosition {
  std::uint64_t epoch = 0;
  std::uint64_t records_done = 0;  ///< of this epoch's order, by all ranks together
  /// Where nodes hold different records: SharesKey() of the shares that records_done counts in. 0: every node holds all
  /// records, or it is not known.
  std::uint32_t shares = 0;

  bool operator==(const EpochPosition&) const = default;
};

/// What happens to the records at the end of an epoch that do not fill a step on all ranks. Words of specs.
enum class Remainder {
  kDrop,    ///< they are left out of this epoch
  kRepeat,  ///< the step is filled with the first records of the same order
  kPad      ///< the step is filled with kPaddingRecord
};
WordTable<Remainder> WordsOf(Remainder);

/// What the reader does with a damaged record. Words of specs.
enum class OnCorrupt { kFail, kSkip };
WordTable<OnCorrupt> WordsOf(OnCorrupt);

/// No record: a place that the reader delivers as zeros and marks as not valid.
inline constexpr std::uint64_t kPaddingRecord = std::numeric_limits<std::uint64_t>::max();

/// How an order is dealt out. A *step* takes `batch` records on each of `world` ranks.
struct ShardRule {
  int rank = 0;
  int world = 1;
  std::uint64_t batch = 1;
  Remainder remainder = Remainder::kDrop;
};

/// How many steps every rank makes of `records` records. Errors: Error(kUsage) for a rule without sense.
std::uint64_t StepsOf(std::uint64_t records, const ShardRule& rule);

/// The records of one rank from position `records_done` on: StepsOf(what is left) * batch places, the same number on
/// every rank. Place i is order[records_done + i * world + rank]. So a step of all ranks together reads batch * world
/// records side by side in the order: one and two ranks at equal global batch see the same batches.
/// Promise: no record comes twice and none is lost, over all ranks and any number of restarts with another `world`. The
///          end of the order is an exception: see `remainder`.
RecordNumbers ShardOf(std::span<const std::uint64_t> order, const ShardRule& rule, std::uint64_t records_done = 0);

/// The position after `steps` steps that began at `records_done`, in an order of `records`.
std::uint64_t RecordsDoneAfter(std::uint64_t steps, std::uint64_t records, const ShardRule& rule,
                               std::uint64_t records_done = 0);

/// The records of one node when each has only a part of the dataset, and how many ranks share them.
struct NodeRecords {
  std::uint64_t records = 0;
  int ranks = 1;
};

/// A key that differs for different shares, for EpochPosition::shares; never 0.
std::uint32_t SharesKey(std::span<const NodeRecords> nodes);

/// How many steps every rank makes when nodes hold different numbers of records. kDrop: as many as the node with the
/// fewest; kRepeat, kPad: as many as the node with the most. Errors: Error(kUsage): no nodes, a node without ranks, one
/// without records to repeat.
std::uint64_t StepsOfNodes(std::span<const NodeRecords> nodes, std::uint64_t batch, Remainder remainder);

/// `steps` steps of the rank `rule.rank` among the `rule.world` ranks of its node, which holds `order`. Steps before
/// `steps_done` are left out. Positions count in whole steps here, so they hold only for the same nodes and ranks.
RecordNumbers ShardOfNode(std::span<const std::uint64_t> order, const ShardRule& rule, std::uint64_t steps,
                          std::uint64_t steps_done = 0);

/// The order in which an epoch first uses `files` files.
std::vector<std::size_t> FileOrder(std::size_t files, std::uint64_t seed, std::uint64_t epoch);

/// `records` (ascending) lie in files that end before the record numbers `file_ends`. They come file by file in
/// FileOrder, shuffled within a window of so many records. The record at place i depends only on the first i + `window`
/// records of that sequence, so reading can begin with the files that are there. A window of 1 keeps the sequence.
/// Errors: Error(kUsage) when `window` is 0.
RecordNumbers WindowedOrder(std::span<const std::uint64_t> records, std::span<const std::uint64_t> file_ends,
                            std::size_t window, std::uint64_t seed, std::uint64_t epoch);

}  // namespace slipway::staging
