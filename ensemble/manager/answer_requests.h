/// Carries out what people asked for beside the manager.
#pragma once

#include "ensemble/manager/judge_reports.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// Takes up all requests that wait and are not answered yet; their answers join `changes`, so that a request is carried
/// out once, whenever the manager dies. What cannot be done is answered with the reason. `judge` forgets the trials
/// that are queued again. Cost: one look at a folder that is mostly missing.
void AnswerRequests(const EnsembleOptions& options, TrialBook& book, OpenStudy& study, ReportJudge& judge,
                    Changes& changes);

}  // namespace slipway::ensemble
