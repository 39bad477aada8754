#include "runtime/exchange/allreduce_through_cpu.h"

#include <algorithm>

#include "runtime/collectives/allreduce.h"
#include "runtime/exchange/shares.h"
#include "runtime/exchange/team_errors.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kPartBytes = 2 << 20;
constexpr std::int64_t kThreadsFrom = 1 << 20;  ///< bytes of a message that several threads combine

/// One allreduce, part by part. A part has a slot of the bench from its copy to the CPU to that back.
class PartByPart {
 public:
  PartByPart(char* data, std::int64_t count, const Reduction& reduction, const MessageParts& parts, Group& group,
             Workbench& bench)
      : data_(data), count_(count), reduction_(reduction), parts_(parts), group_(group), bench_(bench) {
    const bool large = static_cast<std::int64_t>(Bytes(count)) >= kThreadsFrom;
    threads_ = large ? group.ThreadsForGpus() : nullptr;
  }

  void CarryOut(StreamHandle stream) {
    bench_.made.Record(stream);
    bench_.made.HoldBack(bench_.to_cpu.handle());
    bench_.done.HoldBack(bench_.to_cpu.handle());  // an earlier operation may still read the slots
    const auto parts = parts_.size();
    const auto ahead = std::min<std::int64_t>(parts, Workbench::kSlots);
    for (std::int64_t part = 0; part < ahead; ++part) Fetch(part);
    for (std::int64_t part = 0; part < parts; ++part) {
      Combine(part);
      Store(part);
      if (part + ahead >= parts) continue;
      bench_.stored[Slot(part)].HoldBack(bench_.to_cpu.handle());
      Fetch(part + ahead);
    }
    bench_.done.Record(bench_.to_device.handle());
    bench_.done.HoldBack(stream);
  }

 private:
  static std::size_t Slot(std::int64_t part) { return static_cast<std::size_t>(part) % Workbench::kSlots; }
  std::size_t Bytes(std::int64_t elements) const { return BytesOf(elements, SizeOf(reduction_.dtype)); }
  char* InSlot(std::int64_t part) { return bench_.memory.data() + Slot(part) * Bytes(parts_.longest()); }
  /// Calls `copy(in_slot, on_device, bytes)` for what lies together on the device.
  template <class Copy>
  void ForEachCopy(std::int64_t part, Copy copy) {
    char* in_slot = InSlot(part);
    for (const auto& slice : parts_.Of(part)) {
      copy(in_slot, data_ + Bytes(slice.first), Bytes(slice.count));
      in_slot += Bytes(slice.count);
    }
  }

  void Fetch(std::int64_t part) {
    ForEachCopy(part, [this](char* in_slot, char* on_device, std::size_t bytes) {
      bench_.to_cpu.CopyToCpu(in_slot, on_device, bytes);
    });
    bench_.arrived[Slot(part)].Record(bench_.to_cpu.handle());
  }
  void Combine(std::int64_t part) {
    AwaitPoint(bench_.arrived[Slot(part)], group_.communicator().waiter());
    const Piece piece{InSlot(part), parts_.CountOf(part)};
    const auto whole = parts_.size() > 1 ? count_ : 0;
    Allreduce({.pieces = {&piece, 1}, .reduction = reduction_, .whole = whole, .threads = threads_}, group_);
  }
  void Store(std::int64_t part) {
    ForEachCopy(part, [this](char* in_slot, char* on_device, std::size_t bytes) {
      bench_.to_device.CopyToDevice(on_device, in_slot, bytes);
    });
    bench_.stored[Slot(part)].Record(bench_.to_device.handle());
  }

  char* data_;
  std::int64_t count_;
  Reduction reduction_;
  const MessageParts& parts_;
  Group& group_;
  Workbench& bench_;
  CombineThreads* threads_ = nullptr;
};

}  // namespace

bool SplitsFreely(const Group& group, std::int64_t bytes) {
  if (!group.on_one_node()) return false;
  const auto& selection = group.selection();
  for (std::int64_t size = bytes; size > 0; size /= 2) {
    if (selection.table.Select(size, {selection.canonical, false}).algorithm != Algorithm::kShared) return false;
  }
  return true;
}

std::int64_t BytesOfBench(std::int64_t count, const Reduction& reduction, Group& group) {
  const auto parts = PartsOf(count, reduction, kPartBytes, group);
  const auto slots = std::min<std::int64_t>(Workbench::kSlots, parts.size());
  return slots * parts.longest() * static_cast<std::int64_t>(SizeOf(reduction.dtype));
}

void AllreduceThroughCpu(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                         Group& group, StreamHandle stream, Workbenches& benches) {
  Workbenches::Lease bench(benches, place, BytesOfBench(count, reduction, group));
  const InContext here(place);
  const auto parts = PartsOf(count, reduction, kPartBytes, group);
  Parting([&] {
    PartByPart(static_cast<char*>(data), count, reduction, parts, group, *bench).CarryOut(stream);
    AwaitUnlessKept(bench, group.communicator().waiter());
  });
}

}  // namespace slipway::runtime
