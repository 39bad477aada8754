/// The trials of a study with repeats as samplers see them: one row for each configuration.
#pragma once

#include "ensemble/model/trial_table.h"

namespace slipway::ensemble {

/// Row c stands for the trials c * repeats ... (c + 1) * repeats - 1. It is final when all of them are final. It is
/// then complete, with the mean of their values, if at least one is complete.
class Configurations {
 public:
  /// With one repeat a configuration is a trial.
  Configurations(const TrialTable& trials, int repeats);

  /// A trial was added or has changed. Cost: O(repeats).
  void Update(const TrialTable& trials, TrialNumber changed);
  const TrialTable& table() const { return table_; }
  TrialNumber Of(TrialNumber trial) const { return trial / repeats_; }

 private:
  TrialRecord Summarise(const TrialTable& trials, TrialNumber configuration) const;

  int repeats_;
  TrialTable table_;
};

}  // namespace slipway::ensemble
