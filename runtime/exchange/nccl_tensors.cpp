#include "runtime/exchange/nccl_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/collectives/allreduce.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kShareRow = 64;  ///< elements: shares begin where rows of memory begin

void RequireKnown(std::span<const TensorInfo> tensors, slipway_op op) {
  for (const auto& tensor : tensors) {
    if (tensor.count() == 0 || Nccl::Knows(tensor.dtype, op)) continue;
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("tensor '{}' of {} is not for NCCL, which takes sums and means of floats: set "
                                   "gpu_exchange to auto",
                                   tensor.name, NameOf(tensor.dtype)));
  }
}

}  // namespace

// Between all ranks.

std::unique_ptr<NcclTensors> NcclTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                               const TeamSettings& settings, Group& group) {
  RequireKnown(tensors, settings.op);
  auto ranks = NcclRanks::Connect(place, group.communicator(), settings.gpu_exchange);
  std::unique_ptr<NcclTensors> made;
  OnAllRanks(group.communicator(),
             [&] { made.reset(new NcclTensors(place, tensors, settings.op, group, std::move(ranks))); });
  return made;
}

NcclTensors::NcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
                         std::unique_ptr<NcclRanks> ranks)
    : CombinedTensors(place, tensors), op_(op), group_(group), ranks_(std::move(ranks)) {}

void NcclTensors::SetBuckets(std::span<const BucketPlan> plans) {
  buckets_ = JoinBuckets(*place().driver, plans, values(), op_, group_.communicator());
}

void NcclTensors::Combine(std::size_t bucket, Group& group) {
  const auto& [call, pieces] = buckets_[bucket];
  group.Meet(call);
  const InContext here(place());
  ranks_->AllReduce(pieces, call.reduction, sums().handle());
  done().Record(sums().handle());
  ranks_->Await(done());
}

// Within nodes.

bool NodeNcclTensors::Suits(const Group& group) {
  const auto& topology = group.topology();
  return topology.nodes() > 1 && topology.local_size() > 1 && topology.uniform && group.placement().shared_memory;
}

std::unique_ptr<NodeNcclTensors> NodeNcclTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                                       const TeamSettings& settings, Group& group) {
  RequireKnown(tensors, settings.op);
  std::unique_ptr<NodeNcclTensors> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new NodeNcclTensors(place, tensors, settings.op, group)); });
  made->Connect(settings.gpu_exchange);
  return made;
}

NodeNcclTensors::NodeNcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                                 Group& group)
    : CombinedTensors(place, tensors), op_(op), group_(group) {}

void NodeNcclTensors::Connect(GpuExchange asked) {
  auto& all = group_.communicator();
  std::map<int, std::vector<int>> nodes;  // by leader
  const auto leaders = AllgatherValues(all, group_.topology().leader());
  for (std::size_t rank = 0; rank < leaders.size(); ++rank) nodes[leaders[rank]].push_back(static_cast<int>(rank));
  for (const auto& [leader, ranks] : nodes) {
    if (auto own = all.Subgroup(ranks, all.waiter())) node_ = std::move(own);
  }
  std::unique_ptr<Communicator> own_peers;
  for (int place = 0; place < group_.topology().local_size(); ++place) {
    std::vector<int> peers;
    for (const auto& [leader, ranks] : nodes) peers.push_back(ranks[static_cast<std::size_t>(place)]);
    if (auto own = all.Subgroup(peers, all.waiter())) own_peers = std::move(own);
  }
  auto topology = FindTopology(*own_peers, Nodes::kAsAsked);
  peers_ = std::make_unique<Group>(std::move(own_peers), std::move(topology), group_.memory());
  std::exception_ptr error;  // of one node: the others must hear of it
  try {
    ranks_ = NcclRanks::Connect(place(), *node_, asked);
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError&) {
    error = std::current_exception();
  }
  OnAllRanks(all, [&] {
    if (error) std::rethrow_exception(error);
  });
}

NodeNcclTensors::Travel::Travel(const DevicePlace& place, std::int64_t block_bytes, std::int64_t image_bytes,
                                SharedPool& pool)
    : block(place, static_cast<std::size_t>(block_bytes)),
      image(pool, image_bytes),
      pinned(place, image.data(), static_cast<std::size_t>(image_bytes)) {}

std::int64_t NodeNcclTensors::ShareOf(const JoinedBucket& bucket) const {
  const auto rows = (bucket.call.count + kShareRow - 1) / kShareRow;
  return (rows + ranks_->size() - 1) / ranks_->size() * kShareRow;
}

void NodeNcclTensors::SetBuckets(std::span<const BucketPlan> plans) {
  buckets_ = JoinBuckets(*place().driver, plans, values(), op_, group_.communicator());
  std::int64_t most = 1;
  for (const auto& bucket : buckets_) {
    most = std::max(most, ShareOf(bucket) * static_cast<std::int64_t>(SizeOf(bucket.call.reduction.dtype)));
  }
  OnAllRanks(group_.communicator(),
             [&] { travel_ = std::make_unique<Travel>(place(), most * ranks_->size(), most, group_.memory().pool); });
}

/// This rank's share of the node's sums comes to the CPU.
void NodeNcclTensors::ScatterSums(const JoinedBucket& bucket) {
  const auto& reduction = bucket.call.reduction;
  const auto element = SizeOf(reduction.dtype);
  const auto share = ShareOf(bucket);
  const InContext here(place());
  char* to = travel_->block.data();
  for (const auto& piece : bucket.pieces) {
    sums().CopyOnDevice(to, piece.data, BytesOf(piece.count, element));
    to += BytesOf(piece.count, element);
  }
  ranks_->ReduceScatter(travel_->block.data(), share, reduction, sums().handle());
  const char* own = travel_->block.data() + BytesOf(share * ranks_->rank(), element);
  sums().CopyToCpu(travel_->image.data(), own, BytesOf(share, element));
  AwaitWork();
}

/// The shares of all ranks of the node go to the tensors.
void NodeNcclTensors::GatherResult(const JoinedBucket& bucket) {
  const auto& reduction = bucket.call.reduction;
  const auto element = SizeOf(reduction.dtype);
  const auto share = ShareOf(bucket);
  const InContext here(place());
  char* own = travel_->block.data() + BytesOf(share * ranks_->rank(), element);
  sums().CopyToDevice(own, travel_->image.data(), BytesOf(share, element));
  ranks_->AllGather(travel_->block.data(), share, reduction.dtype, sums().handle());
  const char* from = travel_->block.data();
  for (const auto& piece : bucket.pieces) {
    sums().CopyOnDevice(piece.data, from, BytesOf(piece.count, element));
    from += BytesOf(piece.count, element);
  }
  AwaitWork();
}

void NodeNcclTensors::AwaitWork() {
  done().Record(sums().handle());
  ranks_->Await(done());
}

/// The mean over nodes of the means within them: all nodes have as many ranks.
void NodeNcclTensors::Combine(std::size_t index, Group& group) {
  const auto& bucket = buckets_[index];
  const auto manner = group.communicator().waiter().manner();
  node_->waiter().SetManner(manner);
  peers_->communicator().waiter().SetManner(manner);
  group.channel()->Meet(bucket.call);
  ScatterSums(bucket);
  const Piece share{travel_->image.data(), ShareOf(bucket)};
  Allreduce({{&share, 1}, bucket.call.reduction, bucket.call.tag, nullptr}, *peers_);
  group.channel()->Meet(bucket.call);
  GatherResult(bucket);
}

}  // namespace slipway::runtime
