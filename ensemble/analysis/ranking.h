/// The order of trials with several objectives, and the quality of a set of them. All objectives are lower-is-better.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ensemble/search/results/pareto.h"

namespace slipway::ensemble {

/// The rank of one point among others.
struct Standing {
  std::size_t point = 0;  ///< its index
  std::size_t front = 0;  ///< 0: no point dominates it
  double crowding = 0;    ///< CrowdingDistances
};

/// Best first: by front, within a front by crowding, among equals the first. Cost: that of Fronts.
std::vector<Standing> OrderByFronts(std::span<const Objectives> points);

/// The volume that the points dominate, bounded by `reference`. Exact. Points that are not better than `reference` in
/// every objective add nothing.
///
/// Shape:  every point is as long as `reference`; at least one objective.
/// Cost:   n log n for up to two objectives, about n^2 log n for three, exponential in the objectives beyond.
/// Source: While, Bradstreet, Barone: "A fast way of calculating exact hypervolumes", IEEE Transactions on Evolutionary
///         Computation 16, 2012 (WFG).
double Hypervolume(std::span<const Objectives> points, const Objectives& reference);

/// A reference point for a study without one: in each objective the worst value of all points plus a tenth of their
/// extent (1 without an extent). So the ends of a front count. Nothing without points.
std::optional<Objectives> WorstPoint(std::span<const Objectives> points);

}  // namespace slipway::ensemble
