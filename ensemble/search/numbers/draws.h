/// A sequence of random numbers for one use within one trial.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ensemble/model/random.h"

namespace slipway::ensemble {

/// Counts the draws of a CounterRandom. `attempt` (below 128) begins another sequence of the same use; each has 2^25
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
  /// An index of `weights`, which are not negative, each as often as its weight says. Without any weight: the first.
  std::size_t Weighted(std::span<const double> weights);

 private:
  CounterRandom random_;
  std::uint32_t next_;
};

}  // namespace slipway::ensemble
