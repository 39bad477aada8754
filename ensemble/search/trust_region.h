/// Where a local search stands: a box around a good point that grows with success and shrinks with failure.
#pragma once

#include <span>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// A pure function of the rows: nothing of it is kept between asks.
///
/// After 3 successes in a row the box doubles (up to 1.6 axes wide), after max(3, axes / 2) failures it halves. When it
/// has become small without getting better, the search begins anew around the best point that lies away from all
/// centres so far and has no better one near it; after that region has stalled too, it comes back to the best point of
/// all. So a local minimum does not hold it for ever, and a good one is refined to the end.
///
/// With `open` trials under way, the next `open` results after a change of the region were asked for before it: they do
/// not count as failures of what they did not know. Without this a region shrinks several times in a row on one piece
/// of news.
///
/// Source: Eriksson, Pearce, Gardner, Turner, Poloczek: "Scalable global optimization via local Bayesian optimization",
/// NeurIPS 2019 (TuRBO); the restarts are different.
struct TrustRegion {
  std::size_t centre = 0;  ///< index into Observations::complete
  double side = 0.8;
  int stalls = 0;          ///< how many regions were given up before this one
  bool elsewhere = false;  ///< around another basin than the best point's
};

/// Trials below `design` only fill the space; of the others the kind of step (steps.h) tells which are the region's.
/// `complete` is not empty. Cost: O(n), and O(n^2) for each stalled region.
TrustRegion ReplayRegion(std::span<const Observation> complete, TrialNumber design, const std::vector<Axis>& axes,
                         std::size_t open = 0);

/// 1 between two categories and between active and inactive.
double DifferenceOnAxis(double left, double right, const Axis& axis);

/// The largest difference on any axis; 1 between two categories and between active and inactive.
double LargestDifference(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes);

}  // namespace slipway::ensemble
