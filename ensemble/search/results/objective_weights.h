/// Several objectives as one, for methods that know only one.
#pragma once

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// The same trials with one objective each: of the objectives, each scaled to [0, 1], the largest one times its weight,
/// and a twentieth of their weighted sum. The weights are drawn evenly anew for each trial, so that in the course of a
/// study every compromise is looked for. Trials with fewer objectives than others are left out.
/// Cost:   of an ask, n.
/// Source: Knowles: "ParEGO", IEEE Transactions on Evolutionary Computation 10, 2006 (augmented Chebyshev function).
Observations WeightedObjectives(const Observations& known, std::uint64_t seed, TrialNumber trial);

}  // namespace slipway::ensemble
