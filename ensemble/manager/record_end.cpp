#include "ensemble/manager/record_end.h"

#include <cmath>

namespace slipway::ensemble {
namespace {

/// What the trial's row keeps: of a trial that was ended early the last value, if it is one.
std::optional<double> ValueFor(TrialState state, const LiveAttempt& attempt) {
  const bool has_value = state == TrialState::kComplete || state == TrialState::kPruned || state == TrialState::kPaused;
  const auto value = attempt.Value();
  return has_value && value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

const TrialRecord& RecordEnd(TrialNumber number, const LiveAttempt& attempt, const Verdict& verdict,
                             std::optional<ExitStatus> status, OpenStudy& study, ReportJudge& judge, Changes& changes) {
  TrialRecord& trial = study.Edit(number);
  trial.state = verdict.trial;
  trial.reason = verdict.reason;
  trial.ended = changes.time;
  trial.objective = ValueFor(verdict.trial, attempt);
  if (verdict.trial == TrialState::kComplete) trial.further = attempt.Further();
  if (verdict.attempt == TrialState::kFailed) ++trial.failures;
  study.Changed(number);
  judge.End(number, verdict.trial);
  changes.ends.push_back({attempt.number(), verdict.attempt, verdict.outcome, status, verdict.reason, trial});
  return trial;
}

}  // namespace slipway::ensemble
