/// The attempts between their claim and their end: which there are, where they run, and what they use up.
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
  /// `used`: by the managers before. `options` and `clock` must outlive it.
  RunningAttempts(const EnsembleOptions& options, const Usage& used, Clock& clock);

  int size() const { return static_cast<int>(attempts_.size()); }
  bool empty() const { return attempts_.empty(); }
  auto begin() { return attempts_.begin(); }
  auto end() { return attempts_.end(); }

  LiveAttempt& at(TrialNumber trial) { return attempts_.at(trial); }
  /// The attempt if it is the present one of its trial, else null: events of others come too late to count.
  LiveAttempt* Present(TrialNumber trial, int attempt);
  void Add(TrialNumber trial, LiveAttempt attempt);
  /// With all that is known of it now, at the place that it has.
  void Replace(TrialNumber trial, LiveAttempt attempt);
  /// It is over: its place is free, and its time counts no longer.
  LiveAttempt Remove(TrialNumber trial);

  /// It runs since `time`, in seconds since 1970, and its time counts from then on.
  void Begin(LiveAttempt& attempt, double time);

  /// `ended`: the node-seconds of all attempts that are over. To it comes what those that run have used up to now.
  void CountAnew(double ended);

  /// Room for another attempt. Empty where trials are not placed; nothing when none fits now.
  std::optional<std::vector<AllocatedNode>> TakePlace();
  void GiveBack(const std::vector<AllocatedNode>& place) { packer_.GiveBack(place); }
  void LoseNode(const std::string& node) { packer_.Lose(node); }
  /// Attempts are placed, and none will fit any more.
  bool OutOfNodes() const { return !options_.nodes.empty() && packer_.OutOfNodes(); }

  /// Until the budget or the time of this manager is used up, if nothing changes.
  double SecondsLeft() const;
  /// Until one that nobody has told to stop comes to its own time limit; infinite when none can.
  double SecondsToTrialLimit() const;

 private:
  void Count(const LiveAttempt& attempt);
  /// Of this manager; the clock of the day has no part in it.
  double SecondsUp() const;

  const EnsembleOptions& options_;
  Clock& clock_;
  SteadyTime begun_;
  Meter meter_;  // its times are SecondsUp()
  Packer packer_;
  std::map<TrialNumber, LiveAttempt> attempts_;
};

}  // namespace slipway::ensemble
