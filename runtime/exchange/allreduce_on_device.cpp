#include "runtime/exchange/allreduce_on_device.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/device/nccl.h"
#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/shares.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/exchange/way_candidates.h"

namespace slipway::runtime {
namespace {

/// Call::gpu of a place, which is remembered.
std::uint8_t NumberOf(const DevicePlace& place, std::vector<DevicePlace>& places) {
  auto known = std::ranges::find(places, place);
  if (known == places.end()) known = places.insert(known, place);
  return static_cast<std::uint8_t>(known - places.begin() + kFirstGpu);
}

std::int64_t BytesOfMessage(std::int64_t count, const Reduction& reduction) {
  return count * static_cast<std::int64_t>(SizeOf(reduction.dtype));
}

/// Whether this rank reports the group: rank 0 of the job does it, else the first one of the group.
bool IsReporter(Group& group) {
  const auto& ranks = group.communicator().job_ranks();
  const auto reporter = std::ranges::find(ranks, 0) != ranks.end() ? 0 : ranks.front();
  return ranks[static_cast<std::size_t>(group.rank())] == reporter;
}

}  // namespace

/// Whether the GPUs may combine a message that lies in their memory. The same on all ranks.
bool DeviceAllreduces::IsForGpus(std::int64_t count, const Reduction& reduction, const Group& group) const {
  const auto way = settings_.gpu_exchange;
  const bool by_times = way == GpuExchange::kAuto && OtherBitsAreGood(settings_, group);
  const bool between_nodes = way == GpuExchange::kNccl || way == GpuExchange::kMpi || by_times;
  if (group.alone() || way == GpuExchange::kStaged || !(group.on_one_node() || between_nodes)) return false;
  const auto small = way == GpuExchange::kAuto ? kAlwaysThroughCpu : kSmallWithoutTimes;
  return BytesOfMessage(count, reduction) > small && Nccl::Knows(reduction.dtype, reduction.op);
}

/// Null: it has had no large one.
std::shared_ptr<DeviceAllreduces::OfGroup> DeviceAllreduces::Find(const Group& group) const {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(groups_, [&](const auto& each) { return each->group == &group; });
  return known != groups_.end() ? *known : nullptr;
}

/// A group is used by one thread at a time.
DeviceAllreduces::OfGroup& DeviceAllreduces::Known(const DevicePlace& place, const Call& call, Group& group,
                                                   StreamHandle stream) {
  if (const auto known = Find(group)) return *known;
  // Ranks that bring memory of the CPU are met here, not in the middle of what ranks with GPUs make together.
  group.Meet(call);
  if (AllreduceWays::MayTime(settings_, group)) {
    Parting([&] { AwaitWork(place, stream, group.communicator().waiter()); });
  }
  auto ways = AllreduceWays::Choose(place, settings_, measure_, group);
  const auto fresh = std::make_shared<OfGroup>(OfGroup{&group, std::move(ways), {place}});
  auto facts = fresh->ways.Facts();
  const std::lock_guard lock(mutex_);
  if (!facts.is_null() && IsReporter(group)) {
    facts["ranks"] = group.size();
    facts["first_rank"] = group.communicator().job_ranks().front();
    facts_.push_back(facts.dump());
  }
  bits_of_cpu_ = bits_of_cpu_ && fresh->ways.HaveBitsOfCpu();
  return *groups_.emplace_back(fresh);
}

void DeviceAllreduces::AwaitSums(Waiter& waiter) {
  Groups groups;
  {
    const std::lock_guard lock(mutex_);
    groups = groups_;
  }
  for (const auto& known : groups) known->ways.AwaitSums(waiter);
}

void DeviceAllreduces::Forget(Group& group) {
  const auto known = Find(group);
  if (known == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    std::erase(groups_, known);
    if (known->ways.GpuMpiHasWorked()) nodes_of_gpu_mpi_.push_back(group.topology().nodes());
  }
  if (!known->ways.AnyByGpus()) return;
  known->ways.Close();
  group.communicator().Barrier();
}

void DeviceAllreduces::Close(const Group& group) {
  if (const auto known = Find(group)) known->ways.Close();
}

Json DeviceAllreduces::FactsOfAll(Communicator& job) const {
  Json own = Json::array();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& facts : facts_) own.push_back(Json::parse(facts));
  }
  const auto counts = AllgatherValues(job, own.size());
  Json all = Json::array();
  for (int rank = 0; rank < job.size(); ++rank) {
    if (counts[static_cast<std::size_t>(rank)] == 0) continue;
    for (auto& facts : Json::parse(job.BroadcastText(own.dump(), rank))) all.push_back(std::move(facts));
  }
  return all;
}

bool DeviceAllreduces::HaveBitsOfCpu() const {
  const std::lock_guard lock(mutex_);
  return bits_of_cpu_;
}

std::vector<int> DeviceAllreduces::NodesOfGpuMpi() const {
  const std::lock_guard lock(mutex_);
  auto nodes = nodes_of_gpu_mpi_;
  for (const auto& known : groups_) {
    if (known->ways.GpuMpiHasWorked()) nodes.push_back(known->group->topology().nodes());
  }
  return nodes;
}

CombineWay DeviceAllreduces::Allreduce(const DevicePlace& place, void* data, std::int64_t count,
                                       const Reduction& reduction, Group& group, StreamHandle stream) {
  if (group.alone() || count == 0) return CombineWay::kStaged;
  const auto through_cpu = [&] {
    AllreduceThroughCpu(place, data, count, reduction, group, stream, benches_);
    return CombineWay::kStaged;
  };
  if (!IsForGpus(count, reduction, group)) return through_cpu();
  const Call call{Call::Kind::kAllreduce, reduction, count, 0, kFirstGpu};
  auto& known = Known(place, call, group, stream);
  const auto* const by_gpus = known.ways.For(BytesOfMessage(count, reduction), reduction);
  if (by_gpus == nullptr) {
    const bool is_named = settings_.gpu_exchange != GpuExchange::kAuto;
    if (is_named && !group.on_one_node()) group.Meet(call);  // see RequireCpuMemoryOnAll()
    return through_cpu();
  }
  const auto number = NumberOf(place, known.places);
  if (number == kFirstGpu) {
    Parting([&] { by_gpus->by->Allreduce(static_cast<char*>(data), count, reduction, group, stream); });
    return by_gpus->way;
  }
  group.Meet({Call::Kind::kAllreduce, reduction, count, 0, number});
  Parting(through_cpu);
  return CombineWay::kStaged;
}

void DeviceAllreduces::RequireCpuMemoryOnAll(std::int64_t count, const Reduction& reduction, Group& group) const {
  if (group.on_one_node() || !IsForGpus(count, reduction, group)) return;
  if (settings_.gpu_exchange == GpuExchange::kAuto) {
    const auto known = Find(group);
    if (known == nullptr || known->ways.For(BytesOfMessage(count, reduction), reduction) == nullptr) return;
  }
  group.Meet({Call::Kind::kAllreduce, reduction, count});
}

}  // namespace slipway::runtime
