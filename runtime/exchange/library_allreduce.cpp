#include "runtime/exchange/library_allreduce.h"

#include <algorithm>
#include <utility>

#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

void AllreduceOnStream::AwaitValues(StreamHandle stream, const Waiter& waiter) {
  const InContext here(place_);
  made_.Record(stream);
  AwaitPoint(made_, waiter);
}

// NCCL.

std::unique_ptr<NcclAllreduce> NcclAllreduce::Make(const DevicePlace& place, Group& group, GpuExchange asked) {
  auto ranks = NcclRanks::Connect(place, group.communicator(), asked);
  std::unique_ptr<NcclAllreduce> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new NcclAllreduce(place, std::move(ranks))); });
  return made;
}

NcclAllreduce::NcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclRanks> ranks)
    : AllreduceOnStream(place), ranks_(std::move(ranks)) {}

void NcclAllreduce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                              StreamHandle stream) {
  group.Meet({Call::Kind::kAllreduce, reduction, count, 0, kFirstGpu});
  const InContext here(place_);
  made_.Record(stream);
  made_.HoldBack(stream_.handle());
  const Piece piece{data, count};
  ranks_->AllReduce({&piece, 1}, reduction, stream_.handle());
  done_.Record(stream_.handle());
  ranks_->Await(made_, done_);
  done_.HoldBack(stream);
}

// NCCL within nodes.

std::unique_ptr<NodeNcclAllreduce> NodeNcclAllreduce::Make(const DevicePlace& place, Group& group, GpuExchange asked) {
  auto nodes = NcclInNodes::Connect(place, group, asked);
  nodes->Reserve(kPartBytes);
  std::unique_ptr<NodeNcclAllreduce> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new NodeNcclAllreduce(place, std::move(nodes))); });
  return made;
}

NodeNcclAllreduce::NodeNcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclInNodes> nodes)
    : AllreduceOnStream(place), nodes_(std::move(nodes)) {}

void NodeNcclAllreduce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                                  StreamHandle stream) {
  const Call whole{Call::Kind::kAllreduce, reduction, count, 0, kFirstGpu};
  group.Meet(whole);
  AwaitValues(stream, group.communicator().waiter());
  const auto element = SizeOf(reduction.dtype);
  const auto most = kPartBytes / static_cast<std::int64_t>(element);
  for (std::int64_t first = 0; first < count; first += most) {
    const Piece part{data + BytesOf(first, element), std::min(most, count - first)};
    auto call = whole;
    call.count = part.count;
    nodes_->Combine({&part, 1}, call, stream_, done_);
  }
}

// MPI.

std::unique_ptr<MpiAllreduce> MpiAllreduce::Make(const DevicePlace& place, Group& group) {
  auto ranks = MpiRanks::Connect(place, group.communicator());
  const auto* kernel = SumKernel::Of(place);
  if (!OnEveryRank(group.communicator(), kernel != nullptr)) kernel = nullptr;
  std::unique_ptr<MpiAllreduce> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new MpiAllreduce(place, std::move(ranks), kernel)); });
  return made;
}

MpiAllreduce::MpiAllreduce(const DevicePlace& place, std::unique_ptr<MpiRanks> ranks, const SumKernel* kernel)
    : AllreduceOnStream(place), ranks_(std::move(ranks)), kernel_(kernel), tables_(place, stream_) {}

bool MpiAllreduce::Takes(const Reduction& reduction) const {
  return MpiRanks::Knows(reduction.dtype) && (reduction.op == SLIPWAY_SUM || kernel_ != nullptr);
}

void MpiAllreduce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                             StreamHandle stream) {
  group.Meet({Call::Kind::kAllreduce, reduction, count, 0, kFirstGpu});
  const InContext here(place_);
  AwaitValues(stream, group.communicator().waiter());
  ranks_->AddUp(data, count, reduction.dtype);
  has_worked_ = true;
  if (reduction.op != SLIPWAY_MEAN) return;
  const auto in_order = [] {};  // a table is written by the stream of the kernels
  kernel_->Launch(tables_.Of({count, {data}}, in_order), reduction.dtype, group.size(), stream_);
  done_.Record(stream_.handle());
  done_.HoldBack(stream);
}

}  // namespace slipway::runtime
