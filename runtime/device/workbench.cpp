#include "runtime/device/workbench.h"

#include <algorithm>
#include <bit>

namespace slipway::runtime {
namespace {

std::vector<DeviceEvent> EventsOf(const DevicePlace& place) {
  std::vector<DeviceEvent> events;
  for (std::size_t i = 0; i < Workbench::kSlots; ++i) events.emplace_back(place);
  return events;
}

/// Whether it has no copies under way; false where the device does not say so.
bool IsIdle(const Workbench& bench) {
  bool idle = false;
  WithoutErrors(bench.place, [&](const Driver&) { idle = bench.done.Reached(); });
  return idle;
}

/// Whether to free it waits for no copy. Copies to the CPU are under way when an operation ends in an error: behind
/// what the program's stream was given, and that may wait for the GPU of a rank that has died.
bool CanBeFreed(const Workbench& bench) {
  bool idle = false;
  WithoutErrors(bench.place, [&](const Driver&) { idle = std::ranges::all_of(bench.arrived, &DeviceEvent::Reached); });
  return idle && IsIdle(bench);
}

}  // namespace

Workbench::Workbench(const DevicePlace& on, std::int64_t size, SharedPool& pool)
    : place(on),
      bytes(size),
      memory(pool, size),
      pinned(on, memory.data(), static_cast<std::size_t>(size)),
      made(on),
      done(on),
      arrived(EventsOf(on)),
      stored(EventsOf(on)),
      to_cpu(on),
      to_device(on) {}

void Workbench::EndEarly(StreamHandle program) {
  WithoutErrors(place, [&](const Driver&) {
    arrived.front().Record(to_cpu.handle());
    arrived.front().HoldBack(to_device.handle());
    done.Record(to_device.handle());
    done.HoldBack(program);
  });
}

std::unique_ptr<Workbench> Workbenches::Take(const DevicePlace& place, std::int64_t bytes, BenchStart start) {
  {
    const std::lock_guard lock(mutex_);
    if (auto kept = TakeKept(place, bytes, start)) return kept;
  }
  const auto rounded = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1)));
  return std::make_unique<Workbench>(place, IsLarge(bytes) ? bytes : static_cast<std::int64_t>(rounded), pool_);
}

/// With the lock held. Null: a new one is needed.
std::unique_ptr<Workbench> Workbenches::TakeKept(const DevicePlace& place, std::int64_t bytes, BenchStart start) {
  const auto fits = [&](const auto& bench) { return bench->place == place && bench->bytes >= bytes; };
  auto chosen = std::ranges::find_if(free_, fits);
  if (chosen == free_.end()) return nullptr;
  if (start == BenchStart::kCpu) {
    const auto idle = [&](const auto& bench) { return fits(bench) && IsIdle(*bench); };
    const auto first_idle = std::ranges::find_if(free_, idle);
    if (first_idle != free_.end()) {
      chosen = first_idle;
    } else if (!IsLarge(bytes) && std::ranges::count_if(free_, fits) < kMostAtWork) {
      return nullptr;
    }
  }
  auto bench = std::move(*chosen);
  free_.erase(chosen);
  return bench;
}

/// Whether another operation may take `bench` when `latest` has been given back. Of large ones the last is kept: to pin
/// its memory takes longer than to copy it.
bool Workbenches::IsOfUse(const Workbench& bench, const Workbench& latest) const {
  const bool of_two_large = &bench != &latest && IsLarge(bench.bytes) && IsLarge(latest.bytes);
  return bench.bytes <= limits_.kept && !of_two_large;
}

/// All that copy stay, since to free them waits for that. Of the others a few of each device do, the largest.
void Workbenches::Keep(std::unique_ptr<Workbench> bench) {
  std::vector<std::unique_ptr<Workbench>> dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  const auto& latest = *bench;
  free_.insert(std::ranges::upper_bound(free_, bench->bytes, {}, &Workbench::bytes), std::move(bench));
  int of_device = 0;
  for (auto each = free_.end(); each != free_.begin();) {
    const auto& other = **--each;
    const bool is_of_use = IsOfUse(other, latest) && (other.place != latest.place || ++of_device <= kMostOfADevice);
    if (is_of_use || !CanBeFreed(other)) continue;
    dropped.push_back(std::move(*each));
    each = free_.erase(each);
  }
}

}  // namespace slipway::runtime
