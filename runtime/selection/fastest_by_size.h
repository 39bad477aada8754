/// From how long ways took for messages of several sizes to the fastest way for each size. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace slipway::runtime {

/// How long one message took its slowest rank.
template <class Way>
struct TimeOfWay {
  std::int64_t bytes = 0;
  Way way = {};
  double seconds = 0;
};

/// The way of messages that are larger than those of the entry before.
template <class Way>
struct WayUpTo {
  std::int64_t last = 0;  ///< bytes; inclusive
  Way way = {};

  bool operator==(const WayUpTo&) const = default;
};

inline constexpr std::int64_t kAnySize = INT64_MAX;
/// What is less faster than this is noise.
inline constexpr double kClearlyFaster = 0.9;

/// The winner of each size. `times`: ordered by size; of a size the preferred way first. Another one must be a tenth
/// faster.
template <class Way>
std::vector<TimeOfWay<Way>> WinnersOf(std::span<const TimeOfWay<Way>> times) {
  std::vector<TimeOfWay<Way>> winners;
  for (const auto& time : times) {
    if (winners.empty() || winners.back().bytes != time.bytes) {
      winners.push_back(time);
    } else if (time.seconds < kClearlyFaster * winners.back().seconds) {
      winners.back() = time;
    }
  }
  return winners;
}

/// A table of the winners, up to kAnySize; empty of no times. Between two measured sizes the way changes at their
/// geometric mean. `times`: as of WinnersOf().
template <class Way>
std::vector<WayUpTo<Way>> FastestBySize(std::span<const TimeOfWay<Way>> times) {
  const auto winners = WinnersOf(times);
  std::vector<WayUpTo<Way>> table;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const bool ends = i + 1 == winners.size();
    if (!ends && winners[i].way == winners[i + 1].way) continue;
    const auto bytes = static_cast<double>(winners[i].bytes);
    const auto next = ends ? 0 : static_cast<double>(winners[i + 1].bytes);
    table.push_back({ends ? kAnySize : static_cast<std::int64_t>(std::sqrt(bytes * next)), winners[i].way});
  }
  return table;
}

/// The way of a message of `bytes` bytes; `otherwise` where the table has none.
template <class Way>
Way WayFor(const std::vector<WayUpTo<Way>>& table, std::int64_t bytes, Way otherwise) {
  for (const auto& [last, way] : table) {
    if (bytes <= last) return way;
  }
  return otherwise;
}

}  // namespace slipway::runtime
