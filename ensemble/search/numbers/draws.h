/// A sequence of random numbers for one use within one trial.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ensemble/model/random.h"

namespace slipway::ensemble {

/// Counts the draws of a CounterRandom. Each `attempt` (below 128) is another sequence of the same use, with 2^25
/// draws.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t trial, std::string_view stream, std::uint32_t attempt = 0)
      : random_(seed, trial, stream), next_(attempt << 25) {}

  /// In [0, 1).
  double Unit() { return random_.Unit(next_++); }
  /// In [0, count).
  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(random_.Below(count, next_++)); }
  double Normal();
  /// An index of `weights`, with probability in proportion to its weight. Weights are not negative; if all are 0, it is
  /// the first index.
  std::size_t Weighted(std::span<const double> weights);

 private:
  CounterRandom random_;
  std::uint32_t next_;
};

}  // namespace slipway::ensemble
