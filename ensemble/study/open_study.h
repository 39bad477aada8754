/// A study at work: its trials in memory, its sampler, and what comes next. The manager and ask/tell stand on it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ensemble/model/changes.h"
#include "ensemble/model/configurations.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/store/trial_book.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

class OpenStudy {
 public:
  /// Begins the study of an empty book, or goes on with the one that is in it.
  /// Errors: kUsage when the options contradict the book; what the book throws.
  OpenStudy(TrialBook& book, const EnsembleOptions& options, double now);

  const TrialTable& trials() const { return trials_; }
  const TrialRecord& at(TrialNumber trial) const { return trials_.at(trial); }
  /// To be followed by Changed.
  TrialRecord& Edit(TrialNumber trial) { return trials_.Edit(trial); }
  /// The row of this trial is another, in whatever way: all that is derived from it becomes what a study opened on the
  /// same rows would hold. Queued ones line up.
  void Changed(TrialNumber trial);

  /// The first in line, taken out of it.
  std::optional<TrialNumber> TakeQueued();
  const std::set<TrialNumber>& queued() const { return queued_; }

  /// Another attempt has the trial: nothing of the one before is left in its row. Returns the attempt's number.
  int Claim(TrialNumber trial);

  /// Of configurations, imported ones included.
  std::int64_t Budget() const { return budget_; }
  /// Whether the budget has room for another configuration.
  bool HasBudget() const { return configurations_.table().size() < budget_; }
  /// The number that the next configuration will have.
  TrialNumber NextConfiguration() const { return configurations_.table().size(); }
  /// Lines up the trials of the next configuration that the sampler chooses; false when the budget or the space is
  /// used up.
  bool Ask(Changes& changes);
  /// Lines up the trials of a given configuration. There must be room.
  void Add(Point point, std::string origin, std::optional<TrialNumber> parent, Changes& changes);
  /// The sampler had nothing more to give.
  bool exhausted() const { return exhausted_; }

  /// One row for each configuration, as samplers see it.
  const Configurations& configurations() const { return configurations_; }
  /// The best configuration by the first objective, the earlier one among equals, under the number of its first trial.
  /// Nothing: none is complete.
  std::optional<TrialRecord> Best() const;

 private:
  Goal FirstGoal() const { return options_.objectives.front().ValueGoal(); }
  std::optional<TrialNumber> FindBest() const;
  bool IsBetterThanBest(const TrialRecord& row) const;
  void FollowBest(TrialNumber configuration);

  const EnsembleOptions& options_;
  TrialTable trials_;
  std::int64_t budget_;
  Configurations configurations_;
  std::unique_ptr<Sampler> sampler_;
  std::set<TrialNumber> queued_;
  std::optional<TrialNumber> best_;  // configuration
  bool exhausted_ = false;
};

}  // namespace slipway::ensemble
