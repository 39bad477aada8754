/// The order of trials with several objectives, and how good a set of them is. All objectives are lower-is-better.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ensemble/search/results/pareto.h"

namespace slipway::ensemble {

/// The place of one point among others.
struct Standing {
  std::size_t point = 0;  ///< its index
  std::size_t front = 0;  ///< 0: nobody dominates it
  double crowding = 0;    ///< CrowdingDistances
};

/// Best first: by front, within a front by crowding, among equals the first. Cost: that of Fronts.
std::vector<Standing> OrderByFronts(std::span<const Objectives> points);

/// The volume of what some point dominates and `reference` bounds; points that are not better than `reference` in every
/// objective add nothing. Exact.
///
/// Shape:  every point is as long as `reference`; at least one objective.
/// Cost:   n log n for up to two objectives, about n^2 log n for three, exponential in the objectives beyond.
/// Source: While, Bradstreet, Barone: "A fast way of calculating exact hypervolumes", IEEE Transactions on Evolutionary
///         Computation 16, 2012 (WFG).
double Hypervolume(std::span<const Objectives> points, const Objectives& reference);

/// A reference point for a study that names none: in each objective the worst value of all points, and a tenth of the
/// extent beyond it so that the ends of a front count. Nothing without points.
std::optional<Objectives> WorstPoint(std::span<const Objectives> points);

}  // namespace slipway::ensemble
