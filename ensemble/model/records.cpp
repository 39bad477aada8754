#include "ensemble/model/records.h"

#include <fmt/format.h>

namespace slipway::ensemble {

WordTable<TrialState> WordsOf(TrialState) {
  static constexpr Word<TrialState> kWords[] = {
      {TrialState::kQueued, "queued"},      {TrialState::kClaimed, "claimed"}, {TrialState::kWaiting, "waiting"},
      {TrialState::kRunning, "running"},    {TrialState::kPaused, "paused"},   {TrialState::kComplete, "complete"},
      {TrialState::kPruned, "pruned"},      {TrialState::kFailed, "failed"},   {TrialState::kLost, "lost"},
      {TrialState::kCancelled, "cancelled"}};
  return kWords;
}

WordTable<Outcome> WordsOf(Outcome) {
  static constexpr Word<Outcome> kWords[] = {{Outcome::kNone, ""},
                                             {Outcome::kComplete, "complete"},
                                             {Outcome::kFailed, "failed"},
                                             {Outcome::kKilled, "killed"},
                                             {Outcome::kOutOfMemory, "out_of_memory"},
                                             {Outcome::kTimedOut, "timed_out"},
                                             {Outcome::kNodeLost, "node_lost"},
                                             {Outcome::kManagerLost, "manager_lost"},
                                             {Outcome::kNotStarted, "not_started"},
                                             {Outcome::kNoObjective, "no_objective"},
                                             {Outcome::kCancelled, "cancelled"},
                                             {Outcome::kPruned, "pruned"},
                                             {Outcome::kPaused, "paused"},
                                             {Outcome::kDiskFull, "disk_full"}};
  return kWords;
}

std::string Objective::ValueName() const {
  return reach ? fmt::format("seconds to {} {:.6g}", metric, *reach) : metric;
}

WordTable<CountedValue> WordsOf(CountedValue) {
  static constexpr Word<CountedValue> kWords[] = {{CountedValue::kLast, "last", "the last one reported"},
                                                  {CountedValue::kBest, "best", "the best one reported"}};
  return kWords;
}

bool IsFinal(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kPruned || state == TrialState::kFailed ||
         state == TrialState::kCancelled;
}

void BecomeClaimed(TrialRecord& trial) {
  trial.state = TrialState::kClaimed;
  trial.started.reset();
  trial.ended.reset();
  trial.reason.clear();
  ++trial.attempts;
}

void BecomeWaiting(TrialRecord& trial) {
  trial.state = TrialState::kWaiting;
  trial.started.reset();
  trial.reason.clear();
}

void BecomeRunning(TrialRecord& trial, double since) {
  trial.state = TrialState::kRunning;
  trial.started = since;
  trial.reason.clear();
}

bool MayBeRetried(TrialState state) { return IsFinal(state) && state != TrialState::kComplete; }

WordTable<OutsideCause> WordsOf(OutsideCause) {
  static constexpr Word<OutsideCause> kWords[] = {
      {OutsideCause::kNone, "none"},           {OutsideCause::kOutOfMemory, "out-of-memory"},
      {OutsideCause::kNodeLost, "node-lost"},  {OutsideCause::kTimedOut, "timed-out"},
      {OutsideCause::kCancelled, "cancelled"}, {OutsideCause::kNotStarted, "not-started"},
      {OutsideCause::kDiskFull, "disk-full"}};
  return kWords;
}

WordTable<StopReason> WordsOf(StopReason) {
  static constexpr Word<StopReason> kWords[] = {{StopReason::kPruned, "pruned"},
                                                {StopReason::kPaused, "paused"},
                                                {StopReason::kTimeLimit, "time_limit"},
                                                {StopReason::kCancelled, "cancelled"},
                                                {StopReason::kTrialTimeLimit, "trial_time_limit"}};
  return kWords;
}

WordTable<Goal> WordsOf(Goal) {
  static constexpr Word<Goal> kWords[] = {{Goal::kMinimize, "minimize", "small is good"},
                                          {Goal::kMaximize, "maximize", "large is good"}};
  return kWords;
}

bool IsBetter(double left, double right, Goal goal) { return goal == Goal::kMaximize ? left > right : left < right; }

}  // namespace slipway::ensemble
