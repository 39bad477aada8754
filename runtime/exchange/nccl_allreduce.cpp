#include "runtime/exchange/nccl_allreduce.h"

#include <fmt/format.h>

#include <cstdio>

#include "runtime/exchange/meeting.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

std::unique_ptr<NcclAllreduce> NcclAllreduce::Make(const DevicePlace& place, Group& group) try {
  auto ranks = NcclRanks::Connect(place, group.communicator());
  std::unique_ptr<NcclAllreduce> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new NcclAllreduce(place, std::move(ranks))); });
  return made;
} catch (const PartedError&) {
  throw;
} catch (const RuntimeError& error) {
  if (group.rank() == 0)
    std::fputs(fmt::format("slipway: warning: NCCL is not used: {}\n", error.what()).c_str(), stderr);
  return nullptr;
}

NcclAllreduce::NcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclRanks> ranks)
    : place_(place), ranks_(std::move(ranks)), made_(place), done_(place), stream_(place) {}

void NcclAllreduce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                              StreamHandle stream) {
  MeetAll({Call::Kind::kAllreduce, reduction, count, 0}, group);
  const InContext here(place_);
  made_.Record(stream);
  made_.HoldBack(stream_.handle());
  const Piece piece{data, count};
  ranks_->AllReduce({&piece, 1}, reduction, stream_.handle());
  done_.Record(stream_.handle());
  ranks_->Await(done_);
  done_.HoldBack(stream);
}

}  // namespace slipway::runtime
