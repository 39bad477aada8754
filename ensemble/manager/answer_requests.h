/// Carries out the requests that users posted from outside the manager.
#pragma once

#include "ensemble/manager/judge_reports.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// Queues a configuration, whose first trial it returns; the sampler chooses parameters that `point` leaves out. The
/// study must have budget.
TrialNumber AddEnqueued(const EnsembleOptions& options, OpenStudy& study, const Point& point, Changes& changes);

/// Carries out all waiting requests that have no answer yet, and adds their answers to `changes`. Request and answer
/// share one commit, so a request is carried out once, whenever the manager dies. A request that cannot be carried out
/// is answered with the reason. `judge` forgets the trials that are queued again.
/// Cost: one look at a folder that is usually missing.
void AnswerRequests(const EnsembleOptions& options, TrialBook& book, OpenStudy& study, ReportJudge& judge,
                    Changes& changes);

}  // namespace slipway::ensemble
