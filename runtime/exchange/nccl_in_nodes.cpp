#include "runtime/exchange/nccl_in_nodes.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/collectives/allreduce.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kShareRow = 512;  ///< bytes: shares begin where rows of memory begin

}  // namespace

bool NcclInNodes::Suits(const Group& group) {
  const auto& topology = group.topology();
  return topology.nodes() > 1 && topology.local_size() > 1 && topology.uniform && group.placement().shared_memory;
}

std::unique_ptr<NcclInNodes> NcclInNodes::Connect(const DevicePlace& place, Group& group, GpuExchange asked) {
  std::unique_ptr<NcclInNodes> made(new NcclInNodes(place, group));
  made->Divide();
  made->ConnectNode(asked);
  return made;
}

/// Into the ranks of each node, and those with the same place on each.
void NcclInNodes::Divide() {
  auto& all = group_.communicator();
  const auto& topology = group_.topology();
  node_ = all.Subgroup(topology.local, all.waiter());
  const auto places = AllgatherValues(all, topology.local_rank);
  std::vector<int> peers;
  for (int rank = 0; rank < all.size(); ++rank) {
    if (places[static_cast<std::size_t>(rank)] == topology.local_rank) peers.push_back(rank);
  }
  auto own_peers = all.Subgroup(peers, all.waiter());
  auto topology_of_peers = FindTopology(*own_peers, Nodes::kAsAsked);
  peers_ = std::make_unique<Group>(std::move(own_peers), std::move(topology_of_peers), group_.memory());
}

/// An error of one node reaches the others.
void NcclInNodes::ConnectNode(GpuExchange asked) {
  std::exception_ptr error;
  try {
    ranks_ = NcclRanks::Connect(place_, *node_, asked);
  } catch (const PartedError&) {
    throw;
  } catch (const RuntimeError&) {
    error = std::current_exception();
  }
  OnAllRanks(group_.communicator(), [&] {
    if (error) std::rethrow_exception(error);
  });
}

NcclInNodes::Travel::Travel(const DevicePlace& place, std::int64_t block_bytes, std::int64_t share_bytes,
                            SharedPool& pool)
    : block(place, static_cast<std::size_t>(block_bytes)),
      image(pool, share_bytes),
      pinned(place, image.data(), static_cast<std::size_t>(share_bytes)) {}

std::int64_t NcclInNodes::BytesOfShare(std::int64_t bytes) const {
  const auto rows = (bytes + kShareRow - 1) / kShareRow;
  return (rows + ranks_->size() - 1) / ranks_->size() * kShareRow;
}

/// Elements.
std::int64_t NcclInNodes::ShareOf(const Call& call) const {
  const auto element = static_cast<std::int64_t>(SizeOf(call.reduction.dtype));
  return BytesOfShare(call.count * element) / element;
}

void NcclInNodes::Reserve(std::int64_t bytes) {
  const auto share = BytesOfShare(std::max<std::int64_t>(bytes, 1));
  OnAllRanks(group_.communicator(),
             [&] { travel_ = std::make_unique<Travel>(place_, share * ranks_->size(), share, group_.memory().pool); });
}

char* NcclInNodes::OwnShare(const Call& call) const {
  return travel_->block.data() + BytesOf(ShareOf(call) * ranks_->rank(), SizeOf(call.reduction.dtype));
}

/// This rank's share of the node's sums comes to the CPU.
void NcclInNodes::ScatterSums(Pieces pieces, const Call& call, DeviceStream& stream) {
  const auto element = SizeOf(call.reduction.dtype);
  const auto share = ShareOf(call);
  const InContext here(place_);
  char* to = travel_->block.data();
  for (const auto& piece : pieces) {
    stream.CopyOnDevice(to, piece.data, BytesOf(piece.count, element));
    to += BytesOf(piece.count, element);
  }
  ranks_->ReduceScatter(travel_->block.data(), share, call.reduction, stream.handle());
  stream.CopyToCpu(travel_->image.data(), OwnShare(call), BytesOf(share, element));
}

/// The shares of all ranks of the node go to the pieces.
void NcclInNodes::GatherResult(Pieces pieces, const Call& call, DeviceStream& stream) {
  const auto element = SizeOf(call.reduction.dtype);
  const auto share = ShareOf(call);
  const InContext here(place_);
  stream.CopyToDevice(OwnShare(call), travel_->image.data(), BytesOf(share, element));
  ranks_->AllGather(travel_->block.data(), share, call.reduction.dtype, stream.handle());
  const char* from = travel_->block.data();
  for (const auto& piece : pieces) {
    stream.CopyOnDevice(piece.data, from, BytesOf(piece.count, element));
    from += BytesOf(piece.count, element);
  }
}

void NcclInNodes::Await(DeviceStream& stream, DeviceEvent& done) {
  const InContext here(place_);
  done.Record(stream.handle());
  ranks_->Await(done);
}

/// The mean over nodes of the means within them: all nodes have as many ranks.
void NcclInNodes::Combine(Pieces pieces, const Call& call, DeviceStream& stream, DeviceEvent& done) {
  const auto manner = group_.communicator().waiter().manner();
  node_->waiter().SetManner(manner);
  peers_->communicator().waiter().SetManner(manner);
  group_.channel()->Meet(call);
  ScatterSums(pieces, call, stream);
  Await(stream, done);
  const Piece share{travel_->image.data(), ShareOf(call)};
  Allreduce({{&share, 1}, call.reduction, call.tag, nullptr}, *peers_);
  group_.channel()->Meet(call);
  GatherResult(pieces, call, stream);
  Await(stream, done);
}

}  // namespace slipway::runtime
