/// The trust region of a local search: a box around a good point that grows with success and shrinks with failure.
#pragma once

#include <span>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// A pure function of the rows: no state is kept between asks.
///
/// The box doubles after 3 successes in a row, up to 1.6 axes wide. It halves after max(3, axes / 2) failures.
/// A box that has become small without success has stalled. Then the search goes on around another point: the best one
/// that is away from all centres so far and has no better point near it. When that region has stalled too, the search
/// returns to the best point of all. So it leaves local minima, and refines a good one to the end.
///
/// With `open` trials running, the next `open` results after a change of the region were proposed before the change.
/// They do not count as failures. Otherwise a region would shrink several times in a row for one reason.
///
/// Source: Eriksson, Pearce, Gardner, Turner, Poloczek: "Scalable global optimization via local Bayesian optimization",
/// NeurIPS 2019 (TuRBO); the restarts are different.
struct TrustRegion {
  std::size_t centre = 0;  ///< index into Observations::complete
  double side = 0.8;
  int stalls = 0;          ///< number of regions that stalled before this one
  bool elsewhere = false;  ///< in another basin than the best point
};

/// Replays the region from the rows. Trials below `design` only fill the space; of the others, the kind of step
/// (steps.h) shows which belong to the region. `complete` is not empty.
/// Cost: O(n), and O(n^2) for each stalled region.
TrustRegion ReplayRegion(std::span<const Observation> complete, TrialNumber design, const std::vector<Axis>& axes,
                         std::size_t open = 0);

/// The difference on one axis; 1 between two categories and between active and inactive.
double DifferenceOnAxis(double left, double right, const Axis& axis);

/// The largest difference on any axis; 1 between two categories and between active and inactive.
double LargestDifference(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes);

}  // namespace slipway::ensemble
