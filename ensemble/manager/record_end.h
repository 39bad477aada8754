/// The end of an attempt, in all places that know of it.
#pragma once

#include <optional>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/manager/live_attempt.h"
#include "ensemble/manager/verdict.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// What is known of an end.
struct KnownEnd {
  std::optional<ExitStatus> status = {};  ///< nothing: nobody saw one
  std::optional<double> time = {};        ///< seconds since 1970; nothing: now
  std::optional<int> rank = {};           ///< that failed first
};

/// Brings the trial's row, the study and the scheduler up to date with the verdict, and adds the end to `changes`.
/// Returns the row.
const TrialRecord& RecordEnd(TrialNumber number, const LiveAttempt& attempt, const Verdict& verdict,
                             const KnownEnd& end, OpenStudy& study, ReportJudge& judge, Changes& changes);

}  // namespace slipway::ensemble
