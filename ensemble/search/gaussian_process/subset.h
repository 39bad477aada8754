/// Selects the results for a model when there are too many.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace slipway::ensemble {

/// At most `most` indices of `values`, ascending. Half of them are the lowest values; the others are spread evenly over
/// the ranks of the rest. Cost: n log n.
std::vector<std::size_t> SpreadSubset(std::span<const double> values, std::size_t most);

/// The indices of the `count` lowest values, ascending. Among equal values the earlier ones are lower.
std::vector<std::size_t> LowestSubset(std::span<const double> values, std::size_t count);

}  // namespace slipway::ensemble
