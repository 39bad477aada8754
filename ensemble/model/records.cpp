#include "ensemble/model/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace slipway::ensemble {
namespace {

constexpr std::array<std::pair<StopReason, std::string_view>, 5> kStopReasons = {{
    {StopReason::kPruned, "pruned"},
    {StopReason::kPaused, "paused"},
    {StopReason::kTimeLimit, "time_limit"},
    {StopReason::kCancelled, "cancelled"},
    {StopReason::kTrialTimeLimit, "trial_time_limit"},
}};

/// The enum value of `word`: its index in `names`.
template <class Enum>
std::optional<Enum> Parse(const std::vector<std::string>& names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

const std::vector<std::string>& TrialStateNames() {
  static const std::vector<std::string> names = {"queued",   "claimed", "waiting", "running", "paused",
                                                 "complete", "pruned",  "failed",  "lost",    "cancelled"};
  return names;
}

std::string_view TrialStateName(TrialState state) { return TrialStateNames()[static_cast<std::size_t>(state)]; }

std::optional<TrialState> ParseTrialState(std::string_view word) { return Parse<TrialState>(TrialStateNames(), word); }

const std::vector<std::string>& OutcomeNames() {
  static const std::vector<std::string> names = {
      "",          "complete",  "failed",       "killed",      "out_of_memory",
      "timed_out", "node_lost", "manager_lost", "not_started", "no_objective",
      "cancelled", "pruned",    "paused",       "disk_full"};
  return names;
}

std::string_view OutcomeName(Outcome outcome) { return OutcomeNames()[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> ParseOutcome(std::string_view word) { return Parse<Outcome>(OutcomeNames(), word); }

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

std::string_view StopReasonName(StopReason reason) {
  for (const auto& [known, word] : kStopReasons) {
    if (known == reason) return word;
  }
  return "cancelled";
}

std::optional<StopReason> ParseStopReason(std::string_view word) {
  for (const auto& [reason, known] : kStopReasons) {
    if (known == word) return reason;
  }
  return std::nullopt;
}

WordTable<Goal> WordsOf(Goal) {
  static constexpr Word<Goal> kWords[] = {{Goal::kMinimize, "minimize", "small is good"},
                                          {Goal::kMaximize, "maximize", "large is good"}};
  return kWords;
}

bool IsBetter(double left, double right, Goal goal) { return goal == Goal::kMaximize ? left > right : left < right; }

}  // namespace slipway::ensemble
