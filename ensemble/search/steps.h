/// Which kind of step the Gaussian processes take next.
#pragma once

#include <cstddef>

#include "ensemble/model/trial_table.h"

namespace slipway::ensemble {

/// Everywhere or in the trust region around the best point, and what the model learns from.
enum class StepKind {
  kEverywhereByValues,      ///< all results; large values clipped
  kEverywhereByLogarithms,  ///< all results; the logarithms of their values
  kRegion,                  ///< the logarithms of all results
  kNearby,                  ///< only the results nearest to the best point
};
/// Whether a step stays in the trust region.
bool IsLocal(StepKind kind);

/// How many results a model of the best point's neighbourhood learns from: enough to determine a quadratic function of
/// `axes` variables, and some that tell how wrong it is; at most 150, so that an ask stays short.
std::size_t ResultsNearby(std::size_t axes);

/// The kinds take turns, each as often as the others, until there are more trials than a neighbourhood's model learns
/// from. Then 70 of 100 steps are that model's, 15 the region's and 15 go everywhere, as from then on it finds a better
/// point several times as often as the others do. The turns are spread so that any share of the trials that a portfolio
/// gives has them about as often.
StepKind StepOf(TrialNumber trial, std::size_t axes);

}  // namespace slipway::ensemble
