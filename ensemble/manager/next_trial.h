/// Chooses the trial that runs next, for the manager and for AskTell.
#pragma once

#include <optional>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// The next trial, the first of:
///   1. a queued trial, if it is worth running;
///   2. a trial that the scheduler promotes;
///   3. a new trial of the sampler or of the scheduler, which is added to `changes`;
///   4. a paused trial that the scheduler finishes, when no new one will begin.
/// Nothing: no trial may begin now. Queued trials that are no longer worth running are settled in `changes`.
std::optional<TrialNumber> NextTrial(const EnsembleOptions& options, OpenStudy& study, Scheduler& scheduler,
                                     Changes& changes);

}  // namespace slipway::ensemble
