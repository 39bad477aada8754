/// Free points: those that a trial may still have. Also draws one at random.
#pragma once

#include "ensemble/model/trial_table.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Whether a point is free: it breaks no constraint, and no earlier trial has this configuration.
bool IsFree(const SearchSpace& space, const Point& point, const TrialTable& earlier);

/// Draws each active parameter evenly from its domain; a pure function of the arguments. Parameters in `given` keep
/// their values. Constraints are ignored.
Point RandomPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw,
                  const Point& given = {});

/// The first RandomPoint that is free. If few points are free, it repairs broken constraints parameter by parameter,
/// and walks over the grid of a discrete space. If no free point is found, it returns a point of an earlier trial.
/// Cost: mostly one draw; at worst a thousand draws and a walk over the grid of at most 200,000 steps.
/// Errors: Error(kUsage) when it finds no point that meets the constraints, and there is no earlier trial.
Point RandomFreePoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, const TrialTable& earlier);

/// Whether RandomFreePoint finds any point at all.
/// Errors: Error(kUsage) when not, naming the constraint that random points break most often.
void CheckFeasible(const SearchSpace& space);

}  // namespace slipway::ensemble
