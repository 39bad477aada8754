/// All trials of a study in memory, indexed for samplers and the manager.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ensemble/records.h"

namespace slipway::ensemble {

class TrialTable {
 public:
  TrialTable() = default;
  /// Rows in the order of their numbers, which are 0, 1, 2, ... without a gap.
  /// Errors: Error(kEnvironment) when they are not.
  explicit TrialTable(std::vector<TrialRecord> rows);

  const std::vector<TrialRecord>& trials() const { return trials_; }
  TrialNumber size() const { return static_cast<TrialNumber>(trials_.size()); }
  TrialRecord& at(TrialNumber trial) { return trials_.at(static_cast<std::size_t>(trial)); }
  const TrialRecord& at(TrialNumber trial) const { return trials_.at(static_cast<std::size_t>(trial)); }
  bool Has(TrialNumber trial) const { return trial >= 0 && trial < size(); }

  /// The next trial; its number is the present size.
  TrialRecord& Add(TrialRecord trial);
  /// Whether a trial with this configuration exists. O(1).
  bool ContainsConfiguration(const std::string& hash) const { return configurations_.contains(hash); }

  /// How many of the trials below `trial` the study's own sampler has chosen, or would have: all but those that were
  /// enqueued, imported or varied from others. Cost: O(trial).
  TrialNumber CountSampled(TrialNumber trial) const;

  int Count(TrialState state) const;
  /// The best complete trial, the earlier one among equals.
  const TrialRecord* Best(Goal goal) const;

 private:
  std::vector<TrialRecord> trials_;
  std::unordered_set<std::string> configurations_;
};

}  // namespace slipway::ensemble
