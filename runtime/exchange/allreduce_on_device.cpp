#include "runtime/exchange/allreduce_on_device.h"

#include <algorithm>

#include "runtime/collectives/allreduce.h"
#include "runtime/exchange/direct_bounce.h"
#include "runtime/exchange/library_allreduce.h"
#include "runtime/exchange/shares.h"
#include "runtime/exchange/team_errors.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kPartBytes = 2 << 20;
constexpr std::int64_t kThreadsFrom = 1 << 20;  ///< bytes of a message that several threads combine
constexpr std::int64_t kSmallBytes = 64 << 10;  ///< up to here a copy costs less than two meetings of the GPUs

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
  std::size_t Bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * SizeOf(reduction_.dtype);
  }
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

/// Call::gpu of a place, which is remembered.
std::uint8_t NumberOf(const DevicePlace& place, std::vector<DevicePlace>& places) {
  auto known = std::ranges::find(places, place);
  if (known == places.end()) known = places.insert(known, place);
  return static_cast<std::uint8_t>(known - places.begin() + kFirstGpu);
}

}  // namespace

bool SplitsFreely(const Group& group, std::int64_t bytes) {
  if (!group.on_one_node()) return false;
  const auto& selection = group.selection();
  for (std::int64_t size = bytes; size > 0; size /= 2) {
    if (selection.table.Select(size, {selection.canonical, false}).algorithm != Algorithm::kShared) return false;
  }
  return true;
}

std::unique_ptr<GroupAllreduce> DeviceAllreduces::MakeByGpus(const DevicePlace& place, Group& group) const {
  std::unique_ptr<GroupAllreduce> made;
  if (way_ == GpuExchange::kNccl) made = NcclAllreduce::Make(place, group);
  if (way_ == GpuExchange::kMpi) made = MpiAllreduce::Make(place, group);
  return made != nullptr ? std::move(made) : DirectBounce::Make(place, group);
}

/// Whether the GPUs combine a message that lies in their memory, if they can. The same on all ranks.
bool DeviceAllreduces::IsForGpus(std::int64_t count, const Reduction& reduction, const Group& group) const {
  const bool between_nodes = way_ == GpuExchange::kNccl || way_ == GpuExchange::kMpi;
  if (group.alone() || way_ == GpuExchange::kStaged || !(group.on_one_node() || between_nodes)) return false;
  return count * static_cast<std::int64_t>(SizeOf(reduction.dtype)) > kSmallBytes &&
         Nccl::Knows(reduction.dtype, reduction.op);
}

/// With the lock held.
std::list<DeviceAllreduces::OfGroup>::iterator DeviceAllreduces::Find(const Group& group) {
  return std::ranges::find(groups_, &group, &OfGroup::group);
}

/// A group is used by one thread at a time.
DeviceAllreduces::OfGroup& DeviceAllreduces::Known(const DevicePlace& place, const Call& call, Group& group) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = Find(group);
    if (known != groups_.end()) return *known;
  }
  // Ranks that bring memory of the CPU are met here, not in the middle of what ranks with GPUs make together.
  group.Meet(call);
  OfGroup fresh{&group, MakeByGpus(place, group), {place}};
  const std::lock_guard lock(mutex_);
  return groups_.emplace_back(std::move(fresh));
}

void DeviceAllreduces::Forget(Group& group) {
  std::unique_ptr<GroupAllreduce> made;
  {
    const std::lock_guard lock(mutex_);
    const auto known = Find(group);
    if (known == groups_.end()) return;
    made = std::move(known->by_gpus);
    groups_.erase(known);
  }
  if (made == nullptr) return;
  made->Close();
  group.communicator().Barrier();
}

void DeviceAllreduces::Close() {
  const std::lock_guard lock(mutex_);
  for (const auto& known : groups_) {
    if (known.by_gpus != nullptr) known.by_gpus->Close();
  }
}

void DeviceAllreduces::Allreduce(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                                 Group& group, StreamHandle stream) {
  if (group.alone() || count == 0) return;
  const auto through_cpu = [&] { AllreduceThroughCpu(place, data, count, reduction, group, stream, benches_); };
  if (!IsForGpus(count, reduction, group)) return through_cpu();
  const Call call{Call::Kind::kAllreduce, reduction, count, 0, kFirstGpu};
  auto& known = Known(place, call, group);
  if (known.by_gpus == nullptr || !known.by_gpus->Takes(reduction)) {
    if (!group.on_one_node()) group.Meet(call);  // see RequireCpuMemoryOnAll()
    return through_cpu();
  }
  const auto number = NumberOf(place, known.places);
  if (number == kFirstGpu) {
    return Parting([&] { known.by_gpus->Allreduce(static_cast<char*>(data), count, reduction, group, stream); });
  }
  group.Meet({Call::Kind::kAllreduce, reduction, count, 0, number});
  Parting(through_cpu);
}

void DeviceAllreduces::RequireCpuMemoryOnAll(std::int64_t count, const Reduction& reduction, Group& group) const {
  if (group.on_one_node() || !IsForGpus(count, reduction, group)) return;
  group.Meet({Call::Kind::kAllreduce, reduction, count});
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
  Parting([&] { PartByPart(static_cast<char*>(data), count, reduction, parts, group, *bench).CarryOut(stream); });
}

}  // namespace slipway::runtime
