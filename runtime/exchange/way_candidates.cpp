#include "runtime/exchange/way_candidates.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/nccl_in_nodes.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"
#include "runtime/selection/bits.h"

namespace slipway::runtime {

bool OtherBitsAreGood(const TeamSettings& settings, const Group& group) {
  return settings.any_bits && !group.selection().canonical && !group.alone();
}

bool CpuAddsInOrderOfRanks(const Group& group) {
  const auto& [table, canonical] = group.selection();
  return group.on_one_node() && AddsInOrderOfRanks(table, canonical);
}

std::vector<CombineWay> NcclWays(const Group& group) {
  if (NcclInNodes::Suits(group)) return {CombineWay::kNcclInNodes, CombineWay::kNccl};
  return {CombineWay::kNccl};
}

bool IsWideFloat(slipway_dtype dtype) { return dtype == SLIPWAY_FLOAT32 || dtype == SLIPWAY_FLOAT64; }

SampleMessage::SampleMessage(const DevicePlace& place, std::int64_t bytes, const Reduction& reduction, Group& group)
    : place_(place), reduction_(reduction), group_(group), benches_(group.memory().pool) {
  const auto count = bytes / static_cast<std::int64_t>(SizeOf(reduction.dtype));
  OnAllRanks(group.communicator(), [&] {
    block_.emplace(place, static_cast<std::size_t>(bytes));
    stream_.emplace(place);
    Workbenches::Lease(benches_, place, BytesOfBench(count, reduction, group));  // it stays
  });
}

void SampleMessage::AwaitGpu() {
  const InContext here(place_);
  stream_->Synchronize();
}

/// Of the slowest rank.
std::uint64_t SampleMessage::NanosecondsOf(const std::function<void()>& round) {
  group_.communicator().Barrier();
  const auto start = std::chrono::steady_clock::now();
  Parting(round);
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  return group_.communicator().Max(static_cast<std::uint64_t>(took.count()));
}

double SampleMessage::Seconds(const std::function<void()>& round, const Rounds& rounds) {
  Parting(round);  // the first one has more to do
  std::vector<std::uint64_t> times = {NanosecondsOf(round)};
  const int wanted = rounds(static_cast<double>(times.front()) / 1e9);
  while (static_cast<int>(times.size()) < wanted) times.push_back(NanosecondsOf(round));
  const auto median = times.begin() + (wanted - 1) / 2;
  std::ranges::nth_element(times, median);
  return static_cast<double>(*median) / 1e9;
}

double SampleMessage::SecondsThroughCpu(std::int64_t bytes, const Rounds& rounds) {
  const auto count = bytes / static_cast<std::int64_t>(SizeOf(reduction_.dtype));
  const auto round = [&] {
    AllreduceThroughCpu(place_, data(), count, reduction_, group_, stream(), benches_);
    AwaitGpu();
  };
  return Seconds(round, rounds);
}

}  // namespace slipway::runtime
