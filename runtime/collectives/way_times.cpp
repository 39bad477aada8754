#include "runtime/collectives/way_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>

#include "runtime/collectives/shared_memory.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using enum SharedWay;

/// The last one takes most of the time, so it is left out unless the kernel's copies won before: they fall behind where
/// messages leave the caches.
constexpr std::array<std::int64_t, 8> kSizes = {1 << 10,   2 << 10, 4 << 10, 64 << 10,
                                                256 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::chrono::milliseconds kEnough{15};
constexpr int kRounds = 5;
/// Short messages are repeated, so that the clock does not count.
constexpr std::int64_t kBytesOfTurn = 64 << 10;
constexpr int kMostRepeats = 8;

static_assert(kMostTogether == static_cast<std::int64_t>(NodeChannel::kSmall));

/// The preferred one first: what waits less often, and does without the kernel.
std::vector<SharedWay> CandidatesFor(std::int64_t bytes, bool direct_copies) {
  if (bytes <= kMostTogether) return {kTogether, kCopies32K};
  if (bytes <= 64 << 10 || !direct_copies) return {kCopies128K, kCopies32K};
  return {kCopies128K, kDirect, kCopies32K};
}

class Measurement {
 public:
  explicit Measurement(Group& group) : group_(group), memory_(kSizes.back()) {}

  std::vector<WayTime> Run() {
    const auto start = Clock::now();
    std::vector<WayTime> times;
    for (const auto bytes : kSizes) {
      if (bytes == kSizes.back() && FastestOfLargest(times) != kDirect) break;
      const auto ways = CandidatesFor(bytes, group_.channel()->direct_copies());
      for (const auto way : ways) Turn(way, bytes);  // touches memory and caches
      std::vector<std::vector<double>> seconds(ways.size());
      for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < ways.size(); ++i) seconds[i].push_back(Turn(ways[i], bytes));
      }
      const double spent = std::chrono::duration<double>(Clock::now() - start).count();
      const auto agreed = Agree(seconds, spent);
      for (std::size_t i = 0; i < ways.size(); ++i) times.push_back({bytes, ways[i], agreed[i]});
      if (agreed.back() > std::chrono::duration<double>(kEnough).count()) break;
    }
    return times;
  }

 private:
  double Turn(SharedWay way, std::int64_t bytes) {
    const auto repeats = std::clamp<std::int64_t>(kBytesOfTurn / bytes, 1, kMostRepeats);
    const Piece piece{memory_.data(), bytes / static_cast<std::int64_t>(sizeof(float))};
    const SharedMessage message{{&piece, 1}, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, 0, 1, nullptr, way};
    Clock::duration spent{};
    for (std::int64_t i = 0; i < repeats; ++i) {
      auto* values = reinterpret_cast<float*>(memory_.data());
      std::fill(values, values + piece.count, static_cast<float>(++writes_));
      if (i == 0) group_.channel()->Meet({});
      const auto start = Clock::now();
      SharedAllreduce(*group_.channel(), message, group_.memory().pool);
      spent += Clock::now() - start;
    }
    return std::chrono::duration<double>(spent).count() / static_cast<double>(repeats);
  }

  /// Medians over the rounds of the slowest rank of each, and behind them the longest `spent`.
  std::vector<double> Agree(const std::vector<std::vector<double>>& seconds, double spent) {
    std::vector<double> slowest;
    for (const auto& rounds : seconds) slowest.insert(slowest.end(), rounds.begin(), rounds.end());
    slowest.push_back(spent);
    const auto own = slowest;
    for (int local = 0; local < group_.channel()->size(); ++local) {
      auto values = own;
      group_.node().Broadcast(local, values.data(), values.size() * sizeof(double));
      for (std::size_t i = 0; i < values.size(); ++i) slowest[i] = std::max(slowest[i], values[i]);
    }
    std::vector<double> agreed;
    for (std::size_t way = 0; way < seconds.size(); ++way) {
      const auto first = slowest.begin() + static_cast<std::ptrdiff_t>(way * kRounds);
      std::nth_element(first, first + kRounds / 2, first + kRounds);
      agreed.push_back(first[kRounds / 2]);
    }
    agreed.push_back(slowest.back());
    return agreed;
  }

  Group& group_;
  Scratch memory_;
  int writes_ = 0;
};

}  // namespace

std::vector<WayTime> MeasureWays(Group& group) { return Measurement(group).Run(); }

}  // namespace slipway::runtime
