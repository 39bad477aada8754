#include "ensemble/verdict.h"

#include <fmt/format.h>

#include <cmath>

namespace slipway::ensemble {
namespace {

Verdict Stopped(StopReason stop) {
  const std::string reason(StopReasonName(stop));
  switch (stop) {
    case StopReason::kPruned: return {TrialState::kPruned, TrialState::kPruned, reason};
    case StopReason::kPaused: return {TrialState::kPaused, TrialState::kPaused, reason};
    case StopReason::kTimeLimit:
    case StopReason::kCancelled: break;
  }
  return {TrialState::kCancelled, TrialState::kQueued, reason};
}

std::string WithDetail(std::string text, const std::string& detail) {
  return detail.empty() ? text : text + ": " + detail;
}

/// Why the attempt is a failure; nothing when it is none.
std::optional<std::string> Failure(const AttemptFacts& facts) {
  if (!facts.status) return WithDetail("could not be started", facts.detail);
  if (!facts.status->Success()) return WithDetail(facts.status->Describe(), facts.detail);
  if (!facts.objective) return WithDetail(fmt::format("reported no '{}'", facts.metric), facts.detail);
  if (std::isnan(*facts.objective)) return fmt::format("reported {} = NaN", facts.metric);
  if (std::isinf(*facts.objective)) return fmt::format("reported an infinite '{}'", facts.metric);
  return std::nullopt;
}

}  // namespace

Verdict Judge(const AttemptFacts& facts) {
  if (facts.stop) return Stopped(*facts.stop);
  const auto failure = Failure(facts);
  if (!failure) return {TrialState::kComplete, TrialState::kComplete, ""};
  const bool retry = facts.failures < facts.retries;
  return {TrialState::kFailed, retry ? TrialState::kQueued : TrialState::kFailed, *failure};
}

Verdict JudgeLost() { return {TrialState::kLost, TrialState::kQueued, "its manager ended before it did"}; }

}  // namespace slipway::ensemble
