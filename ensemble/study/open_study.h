/// An open study: its trials in memory, its sampler and its queue. The manager and AskTell use it.
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
  /// Begins a study in an empty book, or goes on with the study in it.
  /// Errors: kUsage when the options contradict the book; what the book throws.
  OpenStudy(TrialBook& book, const EnsembleOptions& options, double now);

  const TrialTable& trials() const { return trials_; }
  const TrialRecord& at(TrialNumber trial) const { return trials_.at(trial); }
  /// The row of a trial, to be changed. Call Changed afterwards.
  TrialRecord& Edit(TrialNumber trial) { return trials_.Edit(trial); }
  /// The row of this trial has changed: updates all that is derived from it, as if the study were opened on these rows.
  /// A queued trial joins the queue.
  void Changed(TrialNumber trial);

  /// Takes the first trial, by its number, out of the queue. Nothing: the queue is empty.
  std::optional<TrialNumber> TakeQueued();
  const std::set<TrialNumber>& queued() const { return queued_; }

  /// Claims the trial for its next attempt, and clears what the attempt before left in its row. Returns the number of
  /// the attempt.
  int Claim(TrialNumber trial);

  /// The budget of configurations, imported ones included.
  std::int64_t Budget() const { return budget_; }
  /// Whether the budget allows another configuration.
  bool HasBudget() const { return configurations_.table().size() < budget_; }
  /// The number that the next configuration will have.
  TrialNumber NextConfiguration() const { return configurations_.table().size(); }
  /// Queues the trials of the next configuration, which the sampler chooses. False when the budget or the space is used
  /// up.
  bool Ask(Changes& changes);
  /// Queues the trials of a given configuration. The budget must allow it.
  void Add(Point point, std::string origin, std::optional<TrialNumber> parent, Changes& changes);
  /// The sampler had no further point.
  bool exhausted() const { return exhausted_; }

  /// One row for each configuration, as samplers see it.
  const Configurations& configurations() const { return configurations_; }
  /// The best configuration by the first objective; the earlier one among equals. Its number is that of its first
  /// trial.
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
