/// Random numbers that are fixed for all time: the same on every platform, unlike what std::shuffle chooses.
#pragma once

#include <cstdint>

namespace slipway::staging {

/// SplitMix64 (Steele, Lea, Flood 2014). Number i is a hash of the key and i, so any thread can draw from streams with
/// different keys in any order.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    auto mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  /// Even over 0 .. limit-1: numbers of the incomplete last round are drawn again. `limit` > 0.
  std::uint64_t Below(std::uint64_t limit) {
    const std::uint64_t incomplete = (0 - limit) % limit;
    std::uint64_t number = Next();
    while (number < incomplete) number = Next();
    return number % limit;
  }

  /// Even over [0, 1), in steps of 2^-53.
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// The purpose of a stream of random numbers: no two purposes share a stream. The values are part of the results.
enum class Purpose : std::uint64_t { kSplit = 1, kEpoch = 2, kFiles = 3, kWindow = 4, kTransform = 5, kMake = 6 };

inline SplitMix64 StreamFor(Purpose purpose, std::uint64_t seed, std::uint64_t epoch) {
  SplitMix64 keys(seed ^ (static_cast<std::uint64_t>(purpose) << 56));
  return SplitMix64(keys.Next() ^ SplitMix64(epoch).Next());
}

/// The stream of one transform (the `step`-th of its field) of one record.
inline SplitMix64 StreamFor(std::uint64_t seed, std::uint64_t epoch, std::uint64_t record, std::uint64_t step) {
  SplitMix64 keys = StreamFor(Purpose::kTransform, seed, epoch);
  return SplitMix64(keys.Next() ^ SplitMix64(SplitMix64(record).Next() + step).Next());
}

}  // namespace slipway::staging
