/// How a trial of `pbt` differs from the one whose checkpoint it continues.
#pragma once

#include "ensemble/model/trial_runner.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// The parent's parameters, each with probability 0.25 drawn anew, else perturbed: ranges, integers and steps are
/// multiplied by 0.8 or 1.2 but move at least by a fiftieth of the range, or by one value where values are single;
/// `log` and `int_log` multiply only; `ordinal` goes to a neighbour; `choice` stays. What would leave a range stops at
/// its border; from the border it turns back. Parameters that become active are drawn.
///
/// Result: a pure function of its arguments. It meets the constraints and differs from the parent unless no draw of 128
///         does both: then it is the parent's point.
/// Source: Jaderberg et al., arXiv:1711.09846, section 4.1: explore by perturb and resample.
Point Explore(const SearchSpace& space, const Point& parent, std::uint64_t seed, TrialNumber trial);

}  // namespace slipway::ensemble
