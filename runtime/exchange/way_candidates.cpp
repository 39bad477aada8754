#include "runtime/exchange/way_candidates.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

bool OtherBitsAreGood(const TeamSettings& settings, const Group& group) {
  return settings.any_bits && !group.selection().canonical && !group.alone();
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

double SampleMessage::Seconds(const std::function<void()>& round) {
  Parting(round);  // the first one has more to do
  std::vector<std::uint64_t> times;
  for (int i = 1; i < kRounds; ++i) {
    group_.communicator().Barrier();
    const auto start = std::chrono::steady_clock::now();
    Parting(round);
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
    times.push_back(group_.communicator().Max(static_cast<std::uint64_t>(took.count())));
  }
  const auto median = times.begin() + kRounds / 2 - 1;
  std::ranges::nth_element(times, median);
  return static_cast<double>(*median) / 1e9;
}

double SampleMessage::SecondsThroughCpu(std::int64_t bytes) {
  const auto count = bytes / static_cast<std::int64_t>(SizeOf(reduction_.dtype));
  return Seconds([&] {
    AllreduceThroughCpu(place_, data(), count, reduction_, group_, stream(), benches_);
    AwaitGpu();
  });
}

}  // namespace slipway::runtime
