#include "runtime/exchange/shares.h"

#include <algorithm>
#include <chrono>
#include <thread>

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

void AwaitPoint(const DeviceEvent& event, const Waiter& waiter) {
  for (int looks = 0; looks < kLooksBeforeSleep; ++looks) {
    if (event.Reached()) return;
    Pause();
  }
  const bool foreground = waiter.manner() == Waiter::Manner::kForeground;
  if (foreground && waiter.StayAwake([&] { return event.Reached(); })) return;
  while (!event.Reached()) std::this_thread::sleep_for(kSleepOfAwait);
}

}  // namespace slipway::runtime
