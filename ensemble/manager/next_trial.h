/// Which trial runs next, for whoever carries trials out.
#pragma once

#include <cstddef>
#include <optional>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/open_study.h"

namespace slipway::ensemble {

/// In this order: one in line, if it is worth running; one that the scheduler promotes; a new one of the sampler's or
/// of the scheduler's, which is added to `changes`; and, when none runs (`running` is 0), one that the scheduler
/// rescues. Nothing: none may begin now. Queued trials that are no longer worth running are settled in `changes`.
std::optional<TrialNumber> NextTrial(const EnsembleOptions& options, OpenStudy& study, Scheduler& scheduler,
                                     std::size_t running, Changes& changes);

}  // namespace slipway::ensemble
