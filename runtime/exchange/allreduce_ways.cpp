#include "runtime/exchange/allreduce_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/exchange/direct_bounce.h"
#include "runtime/exchange/library_allreduce.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/exchange/way_candidates.h"

namespace slipway::runtime {
namespace {

constexpr Reduction kMeasuredSum{SLIPWAY_FLOAT32, SLIPWAY_SUM};
constexpr std::int64_t kLargestMeasured = 16 << 20;  ///< bytes
constexpr std::int64_t kSizeFactor = 4;              ///< from one measured size to the next
constexpr double kMostSecondsOfTimes = 0.3;

bool HasBitsOfCpu(CombineWay way) { return way == CombineWay::kStaged || way == CombineWay::kDirect; }

std::unique_ptr<GroupAllreduce> MakeByGpus(CombineWay way, const DevicePlace& place, GpuWaits waits, Group& group) {
  switch (way) {
    case CombineWay::kDirect: return DirectBounce::Make(place, group, waits);
    case CombineWay::kNccl: return NcclAllreduce::Make(place, group);
    case CombineWay::kMpi: return MpiAllreduce::Make(place, group);
    case CombineWay::kStaged:
    case CombineWay::kNcclInNodes: return nullptr;
  }
  return nullptr;
}

/// What `auto` may use besides the CPU; the preferred one first.
std::vector<CombineWay> CandidatesOf(const TeamSettings& settings, const Group& group) {
  std::vector<CombineWay> ways = {CombineWay::kDirect};
  if (!OtherBitsAreGood(settings, group)) return ways;
  ways.push_back(CombineWay::kNccl);
  if (settings.gpu_mpi_has_worked) ways.push_back(CombineWay::kMpi);
  return ways;
}

AllreduceTable TableOf(const std::vector<AllreduceTime>& times) {
  auto table = FastestBySize(std::span<const AllreduceTime>(times));
  if (!table.empty() && table.front().way != CombineWay::kStaged) {
    table.insert(table.begin(), {kAlwaysThroughCpu, CombineWay::kStaged});
  }
  return table;
}

Json ToJson(const AllreduceTable& table) {
  Json ways = Json::array();
  for (const auto& [last, way] : table) {
    ways.push_back({{"up_to_bytes", last == kAnySize ? Json() : Json(last)}, {"way", WordOf(way)}});
  }
  if (ways.empty()) ways.push_back({{"up_to_bytes", Json()}, {"way", WordOf(CombineWay::kStaged)}});
  return ways;
}

/// One object for each size, with the time of each way.
Json MillisecondsOf(const std::vector<AllreduceTime>& times) {
  Json sizes = Json::array();
  for (const auto& [bytes, way, seconds] : times) {
    if (sizes.empty() || sizes.back()["bytes"] != bytes) sizes.push_back({{"bytes", bytes}});
    sizes.back()[WordOf(way)] = 1e3 * seconds;
  }
  return sizes;
}

}  // namespace

std::vector<AllreduceTime> MeasureAllreduces(const DevicePlace& place, std::span<const GpuAllreduce> ways,
                                             Group& group) {
  SampleMessage sample(place, kLargestMeasured, kMeasuredSum, group);
  std::vector<AllreduceTime> times;
  double spent = 0;  // as the medians say: the same on all ranks
  for (auto bytes = kAlwaysThroughCpu; bytes <= kLargestMeasured; bytes *= kSizeFactor) {
    const auto count = bytes / static_cast<std::int64_t>(sizeof(float));
    times.push_back({bytes, CombineWay::kStaged, sample.SecondsThroughCpu(bytes)});
    double of_this_size = times.back().seconds;
    for (const auto& each : ways) {
      const auto seconds = sample.Seconds([&] {
        each.by->Allreduce(sample.data(), count, kMeasuredSum, group, sample.stream());
        each.by->AwaitSums(group.communicator().waiter());  // the driver would wait for a dead rank for ever
        sample.AwaitGpu();
      });
      times.push_back({bytes, each.way, seconds});
      of_this_size += seconds;
    }
    of_this_size *= SampleMessage::kRounds;
    spent += of_this_size;
    if (spent + kSizeFactor * of_this_size > kMostSecondsOfTimes) break;
  }
  return times;
}

AllreduceWays AllreduceWays::Choose(const DevicePlace& place, const TeamSettings& settings,
                                    const AllreduceTimer& measure, Group& group) {
  AllreduceWays chosen;
  if (settings.gpu_exchange == GpuExchange::kAuto) {
    chosen.TakeFastest(place, settings, measure, group);
  } else {
    chosen.TakeNamed(place, settings, group);
  }
  return chosen;
}

void AllreduceWays::TakeNamed(const DevicePlace& place, const TeamSettings& settings, Group& group) {
  const auto named = settings.gpu_exchange;
  std::string why;
  if (named == GpuExchange::kNccl) why = Make(CombineWay::kNccl, place, settings, group);
  if (named == GpuExchange::kMpi) why = Make(CombineWay::kMpi, place, settings, group);
  if (!why.empty() && group.rank() == 0) {
    std::fputs(fmt::format("slipway: warning: {} does not combine memory of GPUs here: {}\n",
                           named == GpuExchange::kNccl ? "NCCL" : "MPI", why)
                   .c_str(),
               stderr);
  }
  if (made_.empty()) Make(CombineWay::kDirect, place, settings, group);
  if (!made_.empty()) of_wide_ = of_narrow_ = {{kAnySize, made_.front().way}};
}

void AllreduceWays::TakeFastest(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure,
                                Group& group) {
  for (const auto way : CandidatesOf(settings, group)) {
    auto why = Make(way, place, settings, group);
    if (!why.empty()) without_.emplace_back(way, std::move(why));
  }
  if (made_.empty()) return;
  not_measured_ = WhyNot([&] { times_ = measure(place, made_, group); });
  std::vector<AllreduceTime> of_narrow;
  std::ranges::copy_if(times_, std::back_inserter(of_narrow), HasBitsOfCpu, &AllreduceTime::way);
  of_wide_ = TableOf(times_);
  of_narrow_ = TableOf(of_narrow);
  EndUnused(group);
}

/// Empty, or why it cannot be. Errors: those of DirectBounce::Make(); PartedError.
std::string AllreduceWays::Make(CombineWay way, const DevicePlace& place, const TeamSettings& settings, Group& group) {
  std::unique_ptr<GroupAllreduce> by;
  const auto make = [&] { by = MakeByGpus(way, place, settings.gpu_waits, group); };
  std::string why;
  if (way == CombineWay::kDirect) {
    make();
  } else {
    why = WhyNot(make);
  }
  if (by != nullptr) made_.push_back({way, std::move(by)});
  return why;
}

bool AllreduceWays::Uses(CombineWay way) const {
  const auto has = [way](const AllreduceTable& table) {
    return std::ranges::find(table, way, &WayUpTo<CombineWay>::way) != table.end();
  };
  return has(of_wide_) || has(of_narrow_);
}

/// Frees what is the fastest for no size.
void AllreduceWays::EndUnused(Group& group) {
  const auto unused = [this](const GpuAllreduce& each) { return !Uses(each.way); };
  if (std::ranges::none_of(made_, unused)) return;
  for (auto& each : made_) {
    if (unused(each)) each.by->Close();
  }
  group.communicator().Barrier();  // no rank frees what another one has mapped
  std::erase_if(made_, unused);
}

GroupAllreduce* AllreduceWays::For(std::int64_t bytes, const Reduction& reduction) const {
  const auto way = WayFor(IsWideFloat(reduction.dtype) ? of_wide_ : of_narrow_, bytes, CombineWay::kStaged);
  const auto found = std::ranges::find(made_, way, &GpuAllreduce::way);
  return found != made_.end() && found->by->Takes(reduction) ? found->by.get() : nullptr;
}

bool AllreduceWays::HaveBitsOfCpu() const { return std::ranges::all_of(made_, HasBitsOfCpu, &GpuAllreduce::way); }

void AllreduceWays::AwaitSums(Waiter& waiter) {
  for (const auto& each : made_) each.by->AwaitSums(waiter);
}

void AllreduceWays::Close() {
  for (const auto& each : made_) each.by->Close();
}

Json AllreduceWays::Facts() const {
  if (times_.empty() && not_measured_.empty()) return {};
  Json facts{{"ways", ToJson(of_wide_)}, {"measured_ms", MillisecondsOf(times_)}};
  if (of_narrow_ != of_wide_) facts["ways_of_16_bits"] = ToJson(of_narrow_);
  for (const auto& [way, why] : without_) facts[fmt::format("without_{}", WordOf(way))] = why;
  if (!not_measured_.empty()) facts["not_measured"] = not_measured_;
  return facts;
}

}  // namespace slipway::runtime
