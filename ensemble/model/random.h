/// Random numbers without a state: each is a pure function of (study seed, trial, stream, draw).
///
/// The same trial of the same study draws the same numbers: whatever was asked before it, on any number of parallel
/// workers, and after any restart.
/// The generator is Philox4x32-10 of the library Random123.
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway::ensemble {

class CounterRandom {
 public:
  /// `stream` separates uses within a trial; the samplers pass the name of the parameter.
  CounterRandom(std::uint64_t seed, std::int64_t trial, std::string_view stream);

  std::uint64_t Bits(std::uint32_t draw) const;
  /// In [0, 1), with 53 random bits.
  double Unit(std::uint32_t draw) const;
  /// In [0, count); each value's probability is exact to 2^-64. `count` is at least 1.
  std::uint64_t Below(std::uint64_t count, std::uint32_t draw) const;

 private:
  std::uint64_t key_;
  std::uint64_t trial_;
};

}  // namespace slipway::ensemble
