/// All trials of a study in memory, indexed for samplers and the manager.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

class TrialTable {
 public:
  TrialTable() = default;
  /// `rows`: in the order of their numbers 0, 1, 2, ... without a gap.
  /// Errors: Error(kEnvironment) when numbers are missing or out of order.
  explicit TrialTable(std::vector<TrialRecord> rows);

  const std::vector<TrialRecord>& trials() const { return trials_; }
  TrialNumber size() const { return static_cast<TrialNumber>(trials_.size()); }
  const TrialRecord& at(TrialNumber trial) const { return trials_.at(static_cast<std::size_t>(trial)); }
  bool Has(TrialNumber trial) const { return trial >= 0 && trial < size(); }

  /// Adds the next trial; its number is the present size.
  TrialRecord& Add(TrialRecord trial);
  /// The row, for a change at once. Raises its revision: code that derived values from the row must derive them again.
  TrialRecord& Edit(TrialNumber trial);
  /// How often the row was edited.
  std::uint32_t Revision(TrialNumber trial) const { return revisions_.at(static_cast<std::size_t>(trial)); }

  /// Whether a trial with this configuration exists. O(1).
  bool ContainsConfiguration(const std::string& hash) const { return configurations_.contains(hash); }

  int Count(TrialState state) const;
  /// Failed trials of this study: imported ones that failed elsewhere do not count.
  int CountOwnFailures() const;
  /// The best complete trial; the earlier one among equals.
  const TrialRecord* Best(Goal goal) const;

 private:
  std::vector<TrialRecord> trials_;
  std::vector<std::uint32_t> revisions_;
  std::unordered_set<std::string> configurations_;
};

}  // namespace slipway::ensemble
