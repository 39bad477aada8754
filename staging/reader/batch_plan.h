/// Which records stand in which batch of this rank: a pure function of the options and the files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "staging/reader/batch_options.h"
#include "staging/reader/sharding.h"

namespace slipway::staging {

/// What this rank reads of one epoch from a position on.
struct EpochPart {
  EpochPosition begin;
  std::uint64_t steps = 0;
  RecordNumbers places;  ///< steps * batch; kPaddingRecord where nothing is
};

class BatchPlan {
 public:
  /// `file_ends`: the record number after the last of each file.
  /// Errors: Error(kUsage): an epoch without a step, shares that are not those of the files, ...
  BatchPlan(const BatchOptions& options, std::vector<std::uint64_t> file_ends);

  /// Cost: time and memory for the whole order of the epoch; the part keeps only this rank's places.
  /// Errors: Error(kUsage): with shares, a position that other nodes or ranks have left.
  EpochPart PartFrom(const EpochPosition& position) const;

  /// The position after `steps` steps of a part.
  EpochPosition After(const EpochPart& part, std::uint64_t steps) const;

  /// Of a whole epoch; at least 1.
  std::uint64_t steps_per_epoch() const { return steps_; }
  /// Records of an epoch, on this node if nodes hold different ones.
  std::uint64_t record_count() const { return records_.size(); }

 private:
  RecordNumbers OrderOf(std::uint64_t epoch) const;
  std::uint64_t RecordsPerStep() const;

  BatchOptions options_;
  ShardRule rule_;
  std::vector<std::uint64_t> file_ends_;
  RecordNumbers records_;
  std::uint64_t steps_ = 0;
};

}  // namespace slipway::staging
