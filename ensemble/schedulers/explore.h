/// The parameters of a `pbt` trial that continues the checkpoint of another: the parent's, perturbed or drawn again.
#pragma once

#include <set>
#include <string>

#include "ensemble/model/trial_runner.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Each parameter is drawn again with probability 0.25, else perturbed from the parent's value:
///   - `uniform`, `int`: multiplied by 0.8 or 1.2, but moved by at least a fiftieth of the range. Values with steps
///     move by at least one step.
///   - `log`: multiplied by 0.8 or 1.2. `int_log`: the same, but moved by at least 1.
///   - `ordinal`: moved to a neighbour. `choice`: kept.
/// A value stops at the end of its range; a value at the end moves in the other direction. Parameters that become
/// active are drawn.
///
/// `others`: hashes of configurations that the result shall differ from, too.
///
/// Result: a pure function of its arguments. It meets the constraints and differs from the parent and from `others`. If
///         none of 128 draws does, it is one of `others`, else the parent's point.
/// Source: Jaderberg et al., arXiv:1711.09846, section 4.1: explore by perturb and resample.
Point Explore(const SearchSpace& space, const Point& parent, std::uint64_t seed, TrialNumber trial,
              const std::set<std::string>& others = {});

}  // namespace slipway::ensemble
