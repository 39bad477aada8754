#include "runtime/exchange/direct_bounce.h"

#include <algorithm>

#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

constexpr std::size_t kMostTables = 64;

}  // namespace

std::unique_ptr<DirectBounce> DirectBounce::Make(const DevicePlace& place, Group& group) {
  auto& communicator = group.communicator();
  const bool can = group.on_one_node() && SumKernel::Of(place) != nullptr;
  if (!OnEveryRank(communicator, can)) return nullptr;
  std::unique_ptr<DirectBounce> bounce;
  OnAllRanks(communicator, [&] { bounce.reset(new DirectBounce(place, group)); });
  void* const own = bounce->block_.data();
  bounce->blocks_ = SharedDeviceMemory::Share(place, {&own, 1}, communicator);
  return bounce->blocks_ != nullptr ? std::move(bounce) : nullptr;
}

DirectBounce::DirectBounce(const DevicePlace& place, const Group& group)
    : place_(place),
      rank_(group.rank()),
      ranks_(group.size()),
      kernel_(*SumKernel::Of(place)),
      block_(place, kBlockBytes),
      made_(place),
      point_(place),
      stream_(place) {}

const SumTable& DirectBounce::TableOf(std::int64_t count, slipway_dtype dtype) {
  const std::pair key(count, dtype);
  if (const auto known = tables_.find(key); known != tables_.end()) return known->second;
  if (tables_.size() >= kMostTables) tables_.clear();
  const auto share = ShareOf(count, ranks_, rank_);
  SumPart part{share.count, blocks_->Of(0)};
  for (auto& address : part.at) address += BytesOf(share.first, SizeOf(dtype));
  return tables_.emplace(key, SumTable(place_, {&part, 1}, stream_)).first->second;
}

/// What lies in the blocks of all ranks.
void DirectBounce::CombinePart(const Call& call, Group& group) {
  AwaitPoint(point_);
  group.channel()->Meet(call);
  kernel_.Launch(TableOf(call.count, call.reduction.dtype), call.reduction.dtype,
                 call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);
  point_.Record(stream_.handle());
  AwaitPoint(point_);
  group.channel()->Meet(call);
}

void DirectBounce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                             StreamHandle stream) {
  const InContext here(place_);
  const auto element = SizeOf(reduction.dtype);
  const auto most = kBlockBytes / static_cast<std::int64_t>(element);
  made_.Record(stream);
  made_.HoldBack(stream_.handle());
  for (std::int64_t first = 0; first < count; first += most) {
    const auto part = std::min(most, count - first);
    char* at = data + BytesOf(first, element);
    stream_.CopyOnDevice(block_.data(), at, BytesOf(part, element));
    point_.Record(stream_.handle());
    CombinePart({Call::Kind::kAllreduce, reduction, part, 0}, group);
    stream_.CopyOnDevice(at, block_.data(), BytesOf(part, element));
  }
  point_.Record(stream_.handle());
  point_.HoldBack(stream);
}

}  // namespace slipway::runtime
