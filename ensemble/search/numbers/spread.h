/// A sequence of numbers that fills the unit interval evenly, and so do its parts.
#pragma once

#include <cmath>
#include <cstdint>

namespace slipway::ensemble {

/// Number `i` of sequence 0 or 1, in [0, 1). Each sequence is even, and so are both together. Take all `i` for which
/// one sequence lies in an interval: the numbers of the other sequence at these `i` are even, too.
/// Source: Roberts: "The unreasonable effectiveness of quasirandom sequences", 2018 (R2).
inline double SpreadUnit(std::int64_t i, int sequence) {
  constexpr double kSteps[] = {0.7548776662466927, 0.5698402909980532};
  const double turns = static_cast<double>(i) * kSteps[sequence];
  return turns - std::floor(turns);
}

}  // namespace slipway::ensemble
