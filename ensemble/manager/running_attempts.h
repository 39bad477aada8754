/// The attempts between their claim and their end: where they run, and how much of the budget they use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "ensemble/manager/live_attempt.h"
#include "ensemble/model/budget.h"
#include "ensemble/model/packer.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

class RunningAttempts {
 public:
  /// `used`: by earlier managers. `options` and `clock` must outlive it.
  RunningAttempts(const EnsembleOptions& options, const Usage& used, Clock& clock);

  int size() const { return static_cast<int>(attempts_.size()); }
  bool empty() const { return attempts_.empty(); }
  auto begin() { return attempts_.begin(); }
  auto end() { return attempts_.end(); }

  LiveAttempt& at(TrialNumber trial) { return attempts_.at(trial); }
  /// The attempt if it is the present one of its trial, else null. Events of earlier attempts come too late to count.
  LiveAttempt* Present(TrialNumber trial, int attempt);
  void Add(TrialNumber trial, LiveAttempt attempt);
  /// Replaces the attempt of the trial and keeps its place.
  void Replace(TrialNumber trial, LiveAttempt attempt);
  /// The attempt is over: frees its place and stops counting its time.
  LiveAttempt Remove(TrialNumber trial);

  /// The attempt runs since `time`, in seconds since 1970; its time counts from then on.
  void Begin(LiveAttempt& attempt, double time);

  /// Sets the node-seconds used: `ended`, of all attempts that are over, plus those of the running attempts up to now.
  void CountAnew(double ended);

  /// Takes a place for another attempt. Empty when trials are not placed; nothing when none fits now.
  std::optional<std::vector<AllocatedNode>> TakePlace();
  void GiveBack(const std::vector<AllocatedNode>& place) { packer_.GiveBack(place); }
  void LoseNode(const std::string& node) { packer_.Lose(node); }
  /// Attempts are placed, and no further attempt will ever fit.
  bool OutOfNodes() const { return !options_.nodes.empty() && packer_.OutOfNodes(); }

  /// Seconds until the budget or the time of this manager is used up, if nothing changes.
  double SecondsLeft() const;
  /// Seconds until the first attempt reaches its own time limit, without those asked to stop; infinite without any.
  double SecondsToTrialLimit() const;

 private:
  void Count(const LiveAttempt& attempt);
  /// Seconds that this manager has run, by the steady clock.
  double SecondsUp() const;

  const EnsembleOptions& options_;
  Clock& clock_;
  SteadyTime begun_;
  Meter meter_;  // its times are SecondsUp()
  Packer packer_;
  std::map<TrialNumber, LiveAttempt> attempts_;
};

}  // namespace slipway::ensemble
