#include "runtime/exchange/shares.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/group/waiter.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kRow = 64;  ///< elements
constexpr int kLooksBeforeSleep = 2000;
constexpr auto kSleepOfAwait = std::chrono::microseconds(20);

}  // namespace

Slice ShareOf(std::int64_t count, int ranks, int rank) {
  const auto rows = SliceOf((count + kRow - 1) / kRow, ranks, rank);
  const auto first = std::min(count, rows.first * kRow);
  return {first, std::min(count, rows.end() * kRow) - first};
}

void AwaitPoint(const DeviceEvent& event) {
  for (int looks = 0; !event.Reached(); ++looks) {
    if (looks > kLooksBeforeSleep) std::this_thread::sleep_for(kSleepOfAwait);
    Pause();
  }
}

}  // namespace slipway::runtime
