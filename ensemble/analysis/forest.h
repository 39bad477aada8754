/// What the trees of a forest learn from, and how much of the space each trial stands for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/analysis/regression_tree.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Trials in cells. A parameter that is not active in a trial would change nothing there: it gets a random cell.
std::vector<CellSample> SamplesOf(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                  Draws& draws);

/// Of all values of all axes, which part `box` holds.
double VolumeOf(const CellBox& box, const std::vector<AxisCells>& cells);

/// How much of the space each trial stands for; they sum to 1. Little where a sampler has looked closely. A forest cuts
/// the space where the order of the values changes, and the trials in a leaf share its volume.
std::vector<double> PartsOfSpace(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                 std::uint64_t seed);

/// The trials' values without those of another order of magnitude: where 90 % of the space lies between q5 and q95,
/// a value beyond q95 + (q95 - q5) becomes that: larger is worse.
std::vector<double> TamedValues(std::span<const Observation> trials, const std::vector<double>& parts);

}  // namespace slipway::ensemble
