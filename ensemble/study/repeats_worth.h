/// Whether another run of a configuration can still change what is known of it.
#pragma once

#include <optional>
#include <string>

#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// Only with the scheduler `wilcoxon`: why the repeat `trial` is not worth running, because the runs of its
/// configuration so far are significantly worse than those of the best one with the same repeat numbers, pair by pair
/// (signed_rank.h). Nothing: run it.
std::optional<std::string> WhyNotWorthRepeating(const OpenStudy& study, const EnsembleOptions& options,
                                                TrialNumber trial);

}  // namespace slipway::ensemble
