/// Which points a trial may still have, and one of them by chance.
#pragma once

#include "ensemble/model/trial_table.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// No constraint is broken, and no earlier trial has this configuration.
bool IsFree(const SearchSpace& space, const Point& point, const TrialTable& earlier);

/// Each active parameter drawn evenly from its domain: a pure function of (seed, trial, draw). What `given`
/// holds is taken from there; constraints do not count.
Point RandomPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw,
                  const Point& given = {});

/// The first of such draws that is free. Where few points are free it looks harder: it mends broken constraints
/// parameter by parameter, and walks over the grid of a discrete space. A space without free points gives one that an
/// earlier trial has.
/// Cost: mostly one draw; at worst some hundred draws and a walk over the grid, which ends after 200,000 steps.
/// Errors: Error(kUsage) when it finds no point that meets the constraints.
Point RandomFreePoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, const TrialTable& earlier);

/// Whether RandomFreePoint finds any point at all.
/// Errors: Error(kUsage) when not, naming the constraint that random points break most often.
void CheckFeasible(const SearchSpace& space);

}  // namespace slipway::ensemble
