/// Numbers of the distributions that made data needs, from one stream: the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "staging/reader/random.h"

namespace slipway::staging {

class Draw {
 public:
  explicit Draw(SplitMix64 numbers) : numbers_(numbers) {}
  /// For record `record` of the data that `seed` makes: records can be made in any order and by any thread.
  static Draw ForRecord(std::uint64_t seed, std::uint64_t record) {
    return Draw(StreamFor(Purpose::kMake, seed, record));
  }

  std::uint64_t Below(std::uint64_t limit) { return numbers_.Below(limit); }
  bool Chance(double probability) { return numbers_.Fraction() < probability; }
  double Between(double low, double high) { return low + (high - low) * numbers_.Fraction(); }
  double Angle() { return Between(0, 2 * std::numbers::pi); }

  /// Box and Muller (1958), the second number of each pair kept for the next call.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(2 * Exponential(1));
    const double angle = Angle();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

  double Exponential(double mean) { return -mean * std::log1p(-numbers_.Fraction()); }

  /// Counts how many exponential waits fit. Cost: `mean` draws.
  int Poisson(double mean) {
    int count = 0;
    for (double waited = Exponential(1); waited < mean; waited += Exponential(1)) ++count;
    return count;
  }

 private:
  SplitMix64 numbers_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace slipway::staging
