/// Which points a trial may still have, and one of them by chance.
#pragma once

#include "ensemble/space.h"
#include "ensemble/trial_table.h"

namespace slipway::ensemble {

/// No earlier trial has this configuration.
bool IsFree(const Point& point, const TrialTable& earlier);

/// Each active parameter drawn evenly from its domain: a pure function of (seed, trial, draw).
Point RandomPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw);

/// The first of such draws that is free, also when only few points of a discrete space are left. A space without free
/// points gives one that an earlier trial has.
/// Cost: mostly one draw; in an almost used-up space a walk over as many points as there are trials.
Point RandomFreePoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, const TrialTable& earlier);

}  // namespace slipway::ensemble
