/// Records the end of an attempt in the study, the scheduler and the changes of the round.
#pragma once

#include <optional>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/manager/live_attempt.h"
#include "ensemble/manager/verdict.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// What is known of an end.
struct KnownEnd {
  std::optional<ExitStatus> status = {};  ///< nothing: unknown
  std::optional<double> time = {};        ///< seconds since 1970; nothing: now
  std::optional<int> rank = {};           ///< the rank that failed first
};

/// Updates the trial's row, the study and the scheduler with the verdict, and adds the end to `changes`.
/// Returns the row.
const TrialRecord& RecordEnd(TrialNumber number, const LiveAttempt& attempt, const Verdict& verdict,
                             const KnownEnd& end, OpenStudy& study, ReportJudge& judge, Changes& changes);

}  // namespace slipway::ensemble
