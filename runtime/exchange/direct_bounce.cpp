#include "runtime/exchange/direct_bounce.h"

#include <algorithm>
#include <utility>

#include "runtime/exchange/peer_sums.h"
#include "runtime/exchange/shares.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

std::unique_ptr<DirectBounce> DirectBounce::Make(const DevicePlace& place, Group& group, GpuWaits waits) {
  auto& communicator = group.communicator();
  const bool can = group.on_one_node() && SumKernel::Of(place) != nullptr;
  if (!OnEveryRank(communicator, can)) return nullptr;
  std::unique_ptr<DirectBounce> bounce;
  OnAllRanks(communicator, [&] { bounce = MakeOwnPart(place, group); });
  if (!OnEveryRank(communicator, bounce != nullptr)) return nullptr;
  const auto share = [&] {
    UnmapOnError(
        communicator, [&] { bounce->Close(); }, [&] { bounce->Share(group, waits); });
  };
  if (!FitsIntoGpus(share)) return nullptr;
  if (bounce->blocks_ != nullptr) return bounce;
  communicator.Barrier();  // no rank frees what another one has mapped
  return nullptr;
}

/// Null: the GPU has no memory for it.
std::unique_ptr<DirectBounce> DirectBounce::MakeOwnPart(const DevicePlace& place, Group& group) try {
  return std::unique_ptr<DirectBounce>(new DirectBounce(place, group));
} catch (const DeviceError&) {
  return nullptr;
}

/// Leaves no blocks where the GPUs do not reach each other rightly.
void DirectBounce::Share(Group& group, GpuWaits waits) {
  void* const own = block_.data();
  blocks_ = SharedDeviceMemory::Share(place_, {&own, 1}, members_);
  if (blocks_ == nullptr) return;
  if (OnEveryRank(members_, waits == GpuWaits::kEvents)) events_ = StepEvents::Make(place_, 1, members_);
  if (!PeerSumsAreRight(place_, blocks_->Of(0), stream_, group, events_.get())) blocks_.reset();
}

DirectBounce::DirectBounce(const DevicePlace& place, Group& group)
    : place_(place),
      members_(group.communicator()),
      rank_(group.rank()),
      ranks_(group.size()),
      kernel_(*SumKernel::Of(place)),
      block_(place, kBlockBytes),
      pool_(group.memory().devices),
      maps_(std::make_unique<PoolMaps>(place, pool_)),
      made_(place),
      point_(place),
      stream_(place),
      table_copies_(place),
      tables_(place, table_copies_) {}

/// The driver would wait for what this GPU still adds up in the others' blocks, and a rank may be dead.
void DirectBounce::Close() {
  const std::lock_guard closing(in_use_);
  Parting([&] { AwaitWhatReturned(members_.waiter()); });
  blocks_.reset();
  maps_.reset();
}

void DirectBounce::AwaitSums(Waiter& waiter) {
  const std::unique_lock idle(in_use_, std::try_to_lock);
  if (idle) AwaitWhatReturned(waiter);
}

void DirectBounce::AwaitWhatReturned(Waiter& waiter) {
  const BesideCaptures beside(place_.driver);
  const InContext here(place_);
  if (events_ != nullptr) events_->Await(waiter);
  AwaitPoint(point_, waiter);  // copies back
}

const SumTable& DirectBounce::TableOf(const Call& call, std::vector<char*> at) {
  const auto share = ShareOf(call.count, ranks_, rank_);
  for (auto& address : at) address += BytesOf(share.first, SizeOf(call.reduction.dtype));
  return tables_.Of({share.count, std::move(at)}, [this] { Await(); });
}

void DirectBounce::CopyToBlock(const char* data, const Call& call) {
  stream_.CopyOnDevice(block_.data(), data, BytesOf(call.count, SizeOf(call.reduction.dtype)));
}

/// This rank's values are where the others look for them; or its event says when they are.
void DirectBounce::AnnounceValues() {
  if (events_ != nullptr) return events_->Made(0, stream_.handle());
  Await();
}

/// What this rank's GPU was given so far.
void DirectBounce::Await() {
  point_.Record(stream_.handle());
  AwaitPoint(point_, members_.waiter());
}

/// All ranks have announced their values. Where a rank cannot map the memory of another, that one's goes to its block:
/// it announces them again, before any rank waits for the first event.
DirectBounce::Spread DirectBounce::Meet(char* data, const Call& call, Group& group) {
  auto& channel = *group.channel();
  const auto where = pool_.Find(data, BytesOf(call.count, SizeOf(call.reduction.dtype)));
  Spread spread{blocks_->Of(0), where.serial == 0};
  if (spread.bounced) CopyToBlock(data, call);
  AnnounceValues();
  channel.Meet(call, where);
  std::vector<SharedLocation> locations;
  for (int rank = 0; rank < ranks_; ++rank) locations.push_back(channel.LocationOf(rank));
  bool again = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto& location = locations[static_cast<std::size_t>(rank)];
    char* found = maps_->Reach(rank, location, group);
    if (found != nullptr) spread.at[static_cast<std::size_t>(rank)] = found;
    if (found != nullptr || location.serial == 0) continue;
    again = true;
    if (rank == rank_) spread.bounced = true;
  }
  if (!again) return spread;
  if (spread.bounced && where.serial != 0) {
    CopyToBlock(data, call);
    AnnounceValues();
  }
  channel.Meet(call);
  return spread;
}

/// Later work of our stream finds the sums of all ranks.
void DirectBounce::EndSums(const Call& call, Group& group) {
  if (events_ != nullptr) {
    events_->Summed(stream_.handle());
  } else {
    Await();
  }
  group.channel()->Meet(call);
  if (events_ != nullptr) events_->Release(stream_.handle());
}

void DirectBounce::CombinePart(char* data, const Call& call, Group& group) {
  const auto spread = Meet(data, call, group);
  const auto& table = TableOf(call, spread.at);
  if (events_ != nullptr) events_->AwaitValues(0, stream_.handle());
  kernel_.Launch(table, call.reduction.dtype, call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);
  EndSums(call, group);
  const auto bytes = BytesOf(call.count, SizeOf(call.reduction.dtype));
  if (spread.bounced) stream_.CopyOnDevice(data, block_.data(), bytes);
}

void DirectBounce::Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                             StreamHandle stream) {
  const std::lock_guard combining(in_use_);
  const InContext here(place_);
  const auto element = SizeOf(reduction.dtype);
  const auto most = kBlockBytes / static_cast<std::int64_t>(element);
  made_.Record(stream);
  made_.HoldBack(stream_.handle());
  try {
    for (std::int64_t first = 0; first < count; first += most) {
      const Call call{Call::Kind::kAllreduce, reduction, std::min(most, count - first), 0, kFirstGpu};
      CombinePart(data + BytesOf(first, element), call, group);
    }
  } catch (const PartedError&) {
    throw;
  } catch (const DeviceError&) {
    throw;
  } catch (const RuntimeError&) {  // all ranks refuse the call, and can go on
    HandBack(stream);
    throw;
  }
  HandBack(stream);
}

/// Later work of the program's stream comes after ours, which copies from the program's memory and to it.
void DirectBounce::HandBack(StreamHandle stream) {
  point_.Record(stream_.handle());
  point_.HoldBack(stream);
}

}  // namespace slipway::runtime
