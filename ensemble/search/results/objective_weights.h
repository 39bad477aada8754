/// Combines several objectives into one, for methods with a single objective.
#pragma once

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// The same trials with one objective each. It is the largest weighted objective, plus a twentieth of their weighted
/// sum; each objective is scaled to [0, 1] before. The weights are drawn evenly for each trial, so a study searches for
/// all compromises. Trials with fewer objectives than others are left out.
/// Cost:   of an ask, n.
/// Source: Knowles: "ParEGO", IEEE Transactions on Evolutionary Computation 10, 2006 (augmented Chebyshev function).
Observations WeightedObjectives(const Observations& known, std::uint64_t seed, TrialNumber trial);

}  // namespace slipway::ensemble
