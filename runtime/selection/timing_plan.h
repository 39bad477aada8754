/// Which sizes of messages are timed, in what order and how often, so that it takes a bounded time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace slipway::runtime {

/// Sizes from `smallest` to `largest`, each `factor` times the one before: both ends first, then what halves the widest
/// gap. So ways are compared over the whole range, however little time there is.
std::vector<std::int64_t> SizesFromBothEnds(std::int64_t smallest, std::int64_t largest, std::int64_t factor);

/// A budget of seconds for some ways with each of these sizes. Where messages take long, each is timed fewer times.
/// Both ends are timed in any case; sizes between them are left out once the time is spent.
class TimingPlan {
 public:
  static constexpr int kMostRounds = 5;  ///< of one message and way, without the first one, which does not count

  TimingPlan(std::vector<std::int64_t> sizes, int ways, double seconds)
      : sizes_(std::move(sizes)), ways_(ways), left_(seconds) {}

  /// The next size; nothing when that is all.
  std::optional<std::int64_t> NextSize();
  /// How often a message is timed with a way, 1 to kMostRounds: once it has taken `seconds`.
  int RoundsOf(double seconds) const;
  /// It took `seconds`, so many times, with the first one.
  void Spend(double seconds, int times);

 private:
  std::vector<std::int64_t> sizes_;
  int ways_;
  double left_;           ///< seconds
  std::size_t next_ = 0;  ///< of `sizes_`
  int ways_left_ = 0;     ///< of the size before that
};

}  // namespace slipway::runtime
