/// The records of each batch of this rank: a pure function of the options and the files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory_left.h"
#include "staging/reader/batch_options.h"
#include "staging/reader/sharding.h"

namespace slipway::staging {

/// What this rank reads of one epoch from a position on.
struct EpochPart {
  EpochPosition begin;
  std::uint64_t steps = 0;
  RecordNumbers places;  ///< steps * batch; kPaddingRecord where nothing is
};

/// The places of a rank's records in the order of all ranks.
struct OrderedPlaces {
  std::uint64_t first = 0;
  int rank = 0;
  int world = 1;

  std::uint64_t At(std::uint64_t place) const {
    return first + place * static_cast<std::uint64_t>(world) + static_cast<std::uint64_t>(rank);
  }
};

class BatchPlan {
 public:
  /// `file_ends`: the record number after the last of each file.
  /// Errors: Error(kUsage): an epoch without a step, shares that are not those of the files, ...
  ///         MemoryError: the order of so many records does not fit into the memory left.
  BatchPlan(const BatchOptions& options, std::vector<std::uint64_t> file_ends, const MemorySources& memory = {});

  /// Cost: time and memory for the whole order of the epoch; the part keeps only this rank's places.
  /// Errors: Error(kUsage): a position inside an epoch that nodes with other shares have left.
  EpochPart PartFrom(const EpochPosition& position) const;

  /// The position after `steps` steps of a part.
  EpochPosition After(const EpochPart& part, std::uint64_t steps) const;

  /// Of a whole epoch; at least 1.
  std::uint64_t steps_per_epoch() const { return steps_; }
  /// Records of an epoch over all ranks.
  std::uint64_t record_count() const { return count_; }
  /// Of the positions that it gives and takes.
  std::uint32_t shares_key() const { return shares_key_; }
  /// Place i of this rank, counted over the whole epoch, is record first + i * world + rank of the order of all ranks.
  /// Where nodes hold different records, that order has the records of one node after those of another.
  OrderedPlaces places_of_rank() const { return {first_place_, rule_.rank, rule_.world}; }

 private:
  void RequireSameShares(const EpochPosition& position) const;
  RecordNumbers OrderOf(std::uint64_t epoch) const;
  std::uint64_t RecordsPerStep() const;

  BatchOptions options_;
  ShardRule rule_;
  std::vector<std::uint64_t> file_ends_;
  RecordNumbers records_;
  std::uint64_t steps_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t first_place_ = 0;
  std::uint32_t shares_key_ = 0;
};

}  // namespace slipway::staging
