#include "runtime/exchange/direct_tensors.h"

#include <algorithm>
#include <set>

#include "runtime/exchange/peer_sums.h"
#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

std::vector<void*> RangesOf(std::span<const TensorInfo> tensors) {
  std::vector<void*> ranges;
  for (const auto& tensor : tensors) ranges.push_back(tensor.count() > 0 ? tensor.data : nullptr);
  return ranges;
}

}  // namespace

MadeDirect DirectTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                               Group& group, GpuWaits waits) {
  const bool floats = std::ranges::all_of(tensors, [](const auto& tensor) { return SumKernel::Knows(tensor.dtype); });
  if (op != SLIPWAY_SUM && op != SLIPWAY_MEAN) return {nullptr, DirectObstacle::kOperation};
  if (!floats) return {nullptr, DirectObstacle::kDtype};
  if (!group.on_one_node()) return {nullptr, DirectObstacle::kNodes};
  if (!OnEveryRank(group.communicator(), place.driver->hip() == nullptr)) return {nullptr, DirectObstacle::kAmd};
  auto made = MakeUntried(place, tensors, op, group, waits);
  if (made.tensors != nullptr && made.tensors->TriesSums()) return made;
  if (made.tensors != nullptr) made = {nullptr, DirectObstacle::kWrongSums};
  group.communicator().Barrier();  // the program may free what another rank had mapped
  return made;
}

MadeDirect DirectTensors::MakeUntried(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                                      Group& group, GpuWaits waits) {
  auto memory = SharedDeviceMemory::Share(place, RangesOf(tensors), group.communicator());
  if (memory == nullptr) return {nullptr, DirectObstacle::kMemory};
  if (!OnEveryRank(group.communicator(), SumKernel::Of(place) != nullptr)) return {nullptr, DirectObstacle::kKernel};
  std::unique_ptr<DirectTensors> made;
  OnAllRanks(group.communicator(),
             [&] { made.reset(new DirectTensors(place, tensors, op, std::move(memory), group)); });
  if (OnEveryRank(group.communicator(), waits == GpuWaits::kEvents)) made->asked_ = GpuWaits::kEvents;
  return {std::move(made), std::nullopt};
}

/// In memory of its own: that of the tensors may be in use.
bool DirectTensors::TriesSums() {
  std::unique_ptr<DeviceBlock> block;
  OnAllRanks(group_.communicator(), [&] { block = std::make_unique<DeviceBlock>(place(), kPeerTrialBytes); });
  void* const own = block->data();
  auto blocks = SharedDeviceMemory::Share(place(), {&own, 1}, group_.communicator());
  bool right = false;
  const auto add_up = [&] {
    const auto events = asked_ == GpuWaits::kEvents ? StepEvents::Make(place(), 1, group_.communicator()) : nullptr;
    if (events == nullptr) asked_ = GpuWaits::kCpu;
    right = blocks != nullptr && PeerSumsAreRight(place(), blocks->Of(0), sums(), group_, events.get());
  };
  UnmapOnError(group_.communicator(), [&] { blocks.reset(); }, add_up);
  blocks.reset();
  group_.communicator().Barrier();  // no rank frees what another one has mapped
  return right;
}

DirectTensors::DirectTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                             std::unique_ptr<SharedDeviceMemory> memory, Group& group)
    : CombinedTensors(place, tensors),
      op_(op),
      group_(group),
      rank_(group.rank()),
      ranks_(group.size()),
      kernel_(*SumKernel::Of(place)),
      memory_(std::move(memory)) {}

/// The sums end before the mapping of the memory does.
DirectTensors::~DirectTensors() {
  FreeOnDevice(place(), [this](const Driver&) { sums().Synchronize(); });
}

/// What this rank's GPU adds up.
std::vector<SumPart> DirectTensors::PartsOf(const BucketPlan& plan) const {
  std::vector<Piece> pieces;
  for (const int index : plan.tensors) pieces.push_back({nullptr, tensor(index).count()});
  std::vector<SumPart> parts;
  ForEachPart(pieces, ShareOf(plan.count, ranks_, rank_), [&](const Part& part) {
    SumPart sum{part.count, memory_->Of(static_cast<std::size_t>(plan.tensors[part.piece]))};
    for (auto& address : sum.at) address += BytesOf(part.offset, SizeOf(plan.dtype));
    parts.push_back(std::move(sum));
  });
  return parts;
}

void DirectTensors::SetBuckets(std::span<const BucketPlan> plans) {
  OnAllRanks(group_.communicator(), [&] {
    for (const auto& plan : plans) {
      const auto tag = static_cast<std::uint32_t>(buckets_.size() + 1);
      buckets_.push_back(
          {{Call::Kind::kAllreduce, {plan.dtype, op_}, plan.count, tag}, SumTable(place(), PartsOf(plan), sums())});
    }
  });
  if (asked_ == GpuWaits::kCpu) return;
  events_ = StepEvents::Make(place(), plans.size(), group_.communicator());
  bucket_of_.assign(values().size(), -1);
  int bucket = 0;
  for (const auto& plan : plans) {
    for (const int index : plan.tensors) bucket_of_[static_cast<std::size_t>(index)] = bucket;
    ++bucket;
  }
}

void DirectTensors::Fetch(std::span<const int> tensors, StreamHandle stream) {
  if (events_ == nullptr) return CombinedTensors::Fetch(tensors, stream);
  std::set<int> buckets;
  for (const int tensor : tensors) buckets.insert(bucket_of_[static_cast<std::size_t>(tensor)]);
  buckets.erase(-1);
  const InContext here(place());
  for (const int bucket : buckets) events_->Made(static_cast<std::size_t>(bucket), stream);
  TakeAtOnce(tensors);
}

void DirectTensors::Combine(std::size_t bucket, Group& group) {
  const auto& [call, table] = buckets_[bucket];
  group.channel()->Meet(call);  // all have their values, or have recorded their events
  if (events_ != nullptr) {
    const InContext here(place());
    events_->AwaitValues(bucket, sums().handle());
  }
  kernel_.Launch(table, call.reduction.dtype, op_ == SLIPWAY_MEAN ? ranks_ : 1, sums());
  if (bucket + 1 == buckets_.size()) EndStep(call, group);
}

/// No rank touches its tensors before all buckets are combined, so one meeting closes a step. `last`: its last call.
void DirectTensors::EndStep(const Call& last, Group& group) {
  {
    const InContext here(place());
    if (events_ != nullptr) {
      events_->Summed(sums().handle());
    } else {
      done().Record(sums().handle());
      AwaitPoint(done(), group.communicator().waiter());
    }
  }
  group.channel()->Meet(last);  // all have their sums, or have recorded their events
}

void DirectTensors::Release(StreamHandle stream) {
  if (events_ == nullptr) return;
  const InContext here(place());
  events_->Release(stream);
}

bool DirectTensors::IsAtWork() const {
  if (events_ == nullptr) return false;
  const InContext here(place());
  return events_->Summing();
}

void DirectTensors::AwaitResult(Waiter& waiter) {
  if (events_ == nullptr) return;
  const InContext here(place());
  events_->Await(waiter);
}

}  // namespace slipway::runtime
