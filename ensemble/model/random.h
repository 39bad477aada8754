/// Random numbers without a state: each is a pure function of (study seed, trial, stream, draw).
///
/// So the same trial of the same study draws the same numbers whatever was asked before it, on any number of
/// parallel workers, and after any restart.
/// Source: Philox4x32-10, Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace slipway::ensemble {

/// The block function: ten rounds.
std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

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
  std::array<std::uint32_t, 2> key_;
  std::uint64_t trial_;
};

}  // namespace slipway::ensemble
