#include "ensemble/manager/record_end.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

/// The value for the trial's row. A trial that was ended early keeps its last value, if it is finite.
std::optional<double> ValueFor(TrialState state, const LiveAttempt& attempt) {
  const bool has_value = state == TrialState::kComplete || state == TrialState::kPruned || state == TrialState::kPaused;
  const auto value = attempt.Value();
  return has_value && value && std::isfinite(*value) ? value : std::nullopt;
}

/// When the attempt ended. Never before its begin: the clock of another machine or boot may differ.
double TimeOf(const KnownEnd& end, const LiveAttempt& attempt, double now) {
  return std::max(end.time.value_or(now), attempt.since());
}

}  // namespace

const TrialRecord& RecordEnd(TrialNumber number, const LiveAttempt& attempt, const Verdict& verdict,
                             const KnownEnd& end, OpenStudy& study, ReportJudge& judge, Changes& changes) {
  TrialRecord& trial = study.Edit(number);
  trial.state = verdict.trial;
  trial.reason = ReasonAlone(verdict);
  trial.ended = TimeOf(end, attempt, changes.time);
  trial.objective = ValueFor(verdict.trial, attempt);
  if (verdict.trial == TrialState::kComplete) trial.further = attempt.Further();
  if (verdict.attempt == TrialState::kFailed) ++trial.failures;
  study.Changed(number);
  judge.End(number, verdict.trial);
  changes.ends.push_back({attempt.number(), verdict.attempt, verdict.outcome, end.status, verdict.reason, trial,
                          end.rank, verdict.missing});
  return trial;
}

}  // namespace slipway::ensemble
