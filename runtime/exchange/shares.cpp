#include "runtime/exchange/shares.h"

#include <algorithm>

namespace slipway::runtime {
namespace {

constexpr std::int64_t kRow = 64;  ///< elements
constexpr int kLooksBeforeSleep = 2000;

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
  waiter.UntilGpu([&] { return event.Reached(); });
}

void AwaitUnlessKept(Workbenches::Lease& bench, const Waiter& waiter) {
  if (!bench.is_kept()) AwaitPoint(bench->done, waiter);
}

void AwaitWork(const DevicePlace& place, StreamHandle stream, const Waiter& waiter) {
  const BesideCaptures beside(place.driver);
  const InContext here(place);
  DeviceEvent point(place);
  point.Record(stream);
  AwaitPoint(point, waiter);
}

void AwaitManaged(const void* data, StreamHandle stream, const Waiter& waiter) {
  const auto place = ManagedPlaceOf(data);
  if (!place) return;
  RequireNotCaptured(*place, stream);
  AwaitWork(*place, stream, waiter);
}

}  // namespace slipway::runtime
