#include "staging/reader/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace slipway::staging {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and fixed for all time, unlike std::shuffle's choices.
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

  /// Even over 0 .. limit-1: numbers of the incomplete last round are drawn again.
  std::uint64_t Below(std::uint64_t limit) {
    const std::uint64_t incomplete = (0 - limit) % limit;
    std::uint64_t number = Next();
    while (number < incomplete) number = Next();
    return number % limit;
  }

 private:
  std::uint64_t state_;
};

/// What a stream of random numbers is for: no two purposes share one.
enum class Purpose : std::uint64_t { kSplit = 1, kEpoch = 2 };

SplitMix64 StreamFor(Purpose purpose, std::uint64_t seed, std::uint64_t epoch) {
  SplitMix64 keys(seed ^ (static_cast<std::uint64_t>(purpose) << 56));
  return SplitMix64(keys.Next() ^ SplitMix64(epoch).Next());
}

void Shuffle(RecordNumbers& records, SplitMix64 random) {
  for (std::size_t i = records.size(); i > 1; --i) std::swap(records[i - 1], records[random.Below(i)]);
}

std::uint64_t ValidationCount(std::uint64_t record_count, double fraction) {
  if (fraction == 0 || record_count < 2) return 0;
  const auto rounded = std::llround(fraction * static_cast<double>(record_count));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rounded), 1, record_count - 1);
}

}  // namespace

RecordSplit Split(std::uint64_t record_count, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1)) {
    throw Error(ErrorKind::kUsage, fmt::format("the validation fraction is {}, expected 0 <= fraction < 1", fraction));
  }
  RecordNumbers all(record_count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  Shuffle(all, StreamFor(Purpose::kSplit, seed, 0));
  const auto border = all.begin() + static_cast<std::ptrdiff_t>(ValidationCount(record_count, fraction));
  RecordSplit split{{border, all.end()}, {all.begin(), border}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.validation);
  return split;
}

RecordNumbers EpochOrder(std::span<const std::uint64_t> records, std::uint64_t seed, std::uint64_t epoch) {
  RecordNumbers order(records.begin(), records.end());
  Shuffle(order, StreamFor(Purpose::kEpoch, seed, epoch));
  return order;
}

RecordNumbers ShardOf(std::span<const std::uint64_t> order, int rank, int world) {
  if (rank < 0 || rank >= world) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no rank {} in a world of {} ranks", rank, world));
  }
  const auto stride = static_cast<std::size_t>(world);
  RecordNumbers shard(order.size() / stride);
  for (std::size_t i = 0; i < shard.size(); ++i) shard[i] = order[i * stride + static_cast<std::size_t>(rank)];
  return shard;
}

}  // namespace slipway::staging
