/// Pareto order of points with several objectives, all lower-is-better.
#pragma once

#include <span>
#include <vector>

namespace slipway::ensemble {

using Objectives = std::vector<double>;

/// Whether `left` is nowhere worse than `right` and somewhere better. Both have the same length.
bool Dominates(const Objectives& left, const Objectives& right);

/// The front of each point: 0 if no point dominates it, 1 if only points of front 0 do, and so on.
/// Cost:   at most m n^2 for n points with m objectives, when all are in one front; memory n.
/// Source: Zhang, Tian, Cheng, Jin: "An efficient approach to nondominated sorting for evolutionary multiobjective
///         optimization", IEEE Transactions on Evolutionary Computation 19, 2015.
std::vector<std::size_t> Fronts(std::span<const Objectives> points);

/// The crowding distance of each point in its front. It is the sum, over the objectives, of the distance between its
/// neighbours as a part of the front's extent. It is infinite at either end. Of equal points one keeps the distance.
/// Source: Deb, Pratap, Agarwal, Meyarivan: "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE
///         Transactions on Evolutionary Computation 6, 2002; also for SelectBest.
std::vector<double> CrowdingDistances(std::span<const Objectives> points, std::span<const std::size_t> fronts);

/// Indices of the `count` best points (or all), best first: by front, then by crowding distance, then by index.
std::vector<std::size_t> SelectBest(std::span<const Objectives> points, std::size_t count);

}  // namespace slipway::ensemble
