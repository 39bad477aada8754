#include "ensemble/manager/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"

namespace slipway::ensemble {
namespace {

// A trial that loses more nodes than this has failed.
constexpr int kMostLosses = 4;

std::string WithDetail(std::string text, const std::string& detail) {
  return detail.empty() ? text : text + ": " + detail;
}

Verdict Stopped(StopReason stop, const std::string& detail, bool may_end) {
  if (stop == StopReason::kPruned && !may_end) {
    return {TrialState::kPaused, TrialState::kQueued, Outcome::kPaused, "nothing takes its place, so it goes on"};
  }
  switch (stop) {
    case StopReason::kPruned: return {TrialState::kPruned, TrialState::kPruned, Outcome::kPruned, detail};
    case StopReason::kPaused: return {TrialState::kPaused, TrialState::kPaused, Outcome::kPaused, detail};
    case StopReason::kTrialTimeLimit:
      return {TrialState::kFailed, TrialState::kFailed, Outcome::kTimedOut, WithDetail("time limit", detail)};
    case StopReason::kTimeLimit:
      return {TrialState::kCancelled, TrialState::kQueued, Outcome::kCancelled, "the time of the ensemble is over"};
    case StopReason::kCancelled: break;
  }
  return {TrialState::kCancelled, TrialState::kQueued, Outcome::kCancelled, "the ensemble was stopped"};
}

struct Failure {
  Outcome outcome;
  std::string reason;
  bool may_be_cured = false;
  std::string missing = {};
};

Failure FailureByStatus(const AttemptFacts& facts) {
  const auto reason = WithDetail(facts.status->Describe(), facts.detail);
  if (facts.cause == OutsideCause::kOutOfMemory) return {Outcome::kOutOfMemory, reason};
  if (facts.as_before) return {Outcome::kFailed, reason + " (as the attempt before: not tried again)"};
  return {facts.status->signal != 0 ? Outcome::kKilled : Outcome::kFailed, reason, true};
}

/// Why the reported value cannot be used.
std::string NoValue(const AttemptFacts& facts) {
  const auto& metric = facts.objective.metric;
  const auto but = ButReported(facts.reported);
  if (!facts.value) return WithDetail(fmt::format("reported no '{}'{}", metric, but), facts.detail);
  if (std::isnan(*facts.value)) return fmt::format("reported {} = NaN", metric);
  return fmt::format("reported an infinite '{}'", metric);
}

/// Why the attempt is a failure; nothing when it is none.
std::optional<Failure> FindFailure(const AttemptFacts& facts) {
  if (!facts.status->Success()) return FailureByStatus(facts);
  if (!facts.value || !std::isfinite(*facts.value)) {
    return Failure{Outcome::kNoObjective, NoValue(facts), false, facts.value ? "" : facts.objective.metric};
  }
  if (!facts.further_missing.empty()) {
    const auto but = ButReported(facts.reported);
    return Failure{Outcome::kNoObjective, fmt::format("reported no finite '{}'{}", facts.further_missing, but), false,
                   facts.further_missing};
  }
  return std::nullopt;
}

/// It ended with status 0, but did not reach the objective's `reach`.
bool MissedItsAim(const AttemptFacts& facts) {
  return facts.status && facts.status->Success() && facts.objective.reach && !facts.value && facts.best_reported;
}

Verdict Missed(const AttemptFacts& facts) {
  const auto reason = fmt::format("did not reach {} = {:.6g}, only {:.6g}", facts.objective.metric,
                                  *facts.objective.reach, *facts.best_reported);
  return {TrialState::kPruned, TrialState::kPruned, Outcome::kComplete, reason};
}

Verdict GoesOnLater(const AttemptFacts& facts) {
  const auto trial = facts.may_wait ? TrialState::kPaused : TrialState::kQueued;
  const auto reason = facts.may_wait ? "it came to its limit" : "it asked to go on later";
  return {TrialState::kPaused, trial, Outcome::kPaused, reason};
}

Verdict EndedWithItsNode(const AttemptFacts& facts) {
  const auto reason = WithDetail("its node was lost", facts.detail);
  const bool again = facts.losses < kMostLosses;
  return {TrialState::kLost, again ? TrialState::kQueued : TrialState::kFailed, Outcome::kNodeLost, reason};
}

/// The disk was full. An attempt that has not run may wait for free space without limit.
bool LackedSpace(const AttemptFacts& facts) {
  return facts.cause == OutsideCause::kDiskFull && (!facts.status || facts.losses < kMostLosses);
}

Verdict EndedOnFullDisk(const AttemptFacts& facts) {
  const auto* how =
      facts.status ? "the disk was full while it ran, so it runs again" : "the disk was full when it was to start";
  return {TrialState::kLost, TrialState::kQueued, Outcome::kDiskFull, WithDetail(how, facts.detail)};
}

/// An attempt that Slurm or an operator has ended. Only the user can know whether more time would help.
Verdict EndedFromOutside(Outcome outcome, std::string reason) {
  return {TrialState::kFailed, TrialState::kFailed, outcome, std::move(reason)};
}

/// A job cancelled in its queue. The program has not run, so it has not failed.
Verdict TakenFromQueue(const AttemptFacts& facts) {
  const auto reason = WithDetail("cancelled before it began", facts.detail);
  return {TrialState::kCancelled, TrialState::kCancelled, Outcome::kCancelled, reason};
}

Verdict NotStarted(const AttemptFacts& facts) {
  if (facts.start_failed_before) {
    const auto reason = WithDetail("could not be started, as the attempt before", facts.detail);
    return {TrialState::kFailed, TrialState::kFailed, Outcome::kNotStarted, reason};
  }
  const auto reason = WithDetail("could not be started and is tried once more", facts.detail);
  return {TrialState::kLost, TrialState::kQueued, Outcome::kNotStarted, reason};
}

}  // namespace

Verdict Judge(const AttemptFacts& facts) {
  const bool was_faster = facts.is_whole && facts.status && facts.status->Success();
  if (facts.stop && !was_faster) return Stopped(*facts.stop, facts.stop_detail, facts.may_end);
  if (facts.cause == OutsideCause::kNodeLost) return EndedWithItsNode(facts);
  if (facts.cause == OutsideCause::kCancelled && !facts.has_begun) return TakenFromQueue(facts);
  if (facts.cause == OutsideCause::kTimedOut) {
    return EndedFromOutside(Outcome::kTimedOut, WithDetail("time limit", facts.detail));
  }
  if (facts.cause == OutsideCause::kCancelled) return EndedFromOutside(Outcome::kCancelled, facts.detail);
  if (facts.cause == OutsideCause::kNotStarted) return NotStarted(facts);
  if (LackedSpace(facts)) return EndedOnFullDisk(facts);
  if (AsksToGoOn(facts.status) && facts.has_moved_on) return GoesOnLater(facts);
  if (MissedItsAim(facts)) return Missed(facts);
  const auto failure = FindFailure(facts);
  if (!failure) return {TrialState::kComplete, TrialState::kComplete, Outcome::kComplete, ""};
  const bool retry = failure->may_be_cured && facts.failures < facts.retries;
  return {TrialState::kFailed, retry ? TrialState::kQueued : TrialState::kFailed, failure->outcome, failure->reason,
          failure->missing};
}

std::string ReasonAlone(const Verdict& verdict) {
  if (verdict.outcome == Outcome::kOutOfMemory) return WithDetail("out of memory", verdict.reason);
  const bool by_somebody_else = verdict.outcome == Outcome::kCancelled && verdict.attempt == TrialState::kFailed;
  return by_somebody_else ? WithDetail("cancelled", verdict.reason) : verdict.reason;
}

std::string ButReported(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return {};
  const std::span shown(names.data(), std::min(names.size(), kMost));
  return fmt::format("; it reported: {}{}", fmt::join(shown, ", "), names.size() > kMost ? ", ..." : "");
}

bool AsksToGoOn(const std::optional<ExitStatus>& status) {
  return status == ExitStatus{static_cast<int>(ErrorKind::kTryAgain), 0};
}

Verdict JudgeLost() {
  return {TrialState::kLost, TrialState::kQueued, Outcome::kManagerLost, "its manager ended before it did"};
}

}  // namespace slipway::ensemble
