/// Which trial runs next, for whoever carries trials out.
#pragma once

#include <optional>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// In this order: one in line, if it is worth running; one that the scheduler promotes; a new one of the sampler's or
/// of the scheduler's, which is added to `changes`; and, when no new one will begin, one that the scheduler lets come
/// to its end. Nothing: none may begin now. Queued trials that are no longer worth running are settled in `changes`.
std::optional<TrialNumber> NextTrial(const EnsembleOptions& options, OpenStudy& study, Scheduler& scheduler,
                                     Changes& changes);

}  // namespace slipway::ensemble
