/// Chooses the kind of the next step of the Gaussian processes.
#pragma once

#include <cstddef>

#include "ensemble/model/trial_table.h"

namespace slipway::ensemble {

/// Where a step searches (everywhere, or in the trust region around the best point), and what its model learns from.
enum class StepKind {
  kEverywhereByValues,      ///< all results; large values clipped
  kEverywhereByLogarithms,  ///< all results; the logarithms of their values
  kRegion,                  ///< the logarithms of all results
  kNearby,                  ///< only the results nearest to the best point
};
/// Whether a step stays in the trust region.
bool IsLocal(StepKind kind);

/// The number of results that the model of kNearby learns from. They are enough to determine a quadratic function of
/// `axes` variables, and some more show its error. At most 150, to limit the time of an ask.
std::size_t ResultsNearby(std::size_t axes);

/// The kinds take turns, equally often, for the first ResultsNearby(axes) trials. Then, of 100 steps, 70 are kNearby,
/// 15 kRegion and 15 everywhere: from then on kNearby finds a better point several times as often as the others.
/// The turns are spread evenly: every share of the trials in a portfolio has about the same mixture.
StepKind StepOf(TrialNumber trial, std::size_t axes);

}  // namespace slipway::ensemble
