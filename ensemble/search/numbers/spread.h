/// Numbers that fill the unit interval evenly, however they are cut.
#pragma once

#include <cmath>
#include <cstdint>

namespace slipway::ensemble {

/// Number `i` of two sequences (0 and 1) in [0, 1) that are even in each coordinate and together: among those i whose
/// number of one sequence lies in some interval, the numbers of the other are even, too.
/// Source: Roberts: "The unreasonable effectiveness of quasirandom sequences", 2018 (R2).
inline double SpreadUnit(std::int64_t i, int sequence) {
  constexpr double kSteps[] = {0.7548776662466927, 0.5698402909980532};
  const double turns = static_cast<double>(i) * kSteps[sequence];
  return turns - std::floor(turns);
}

}  // namespace slipway::ensemble
