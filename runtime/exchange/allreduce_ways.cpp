#include "runtime/exchange/allreduce_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/exchange/direct_bounce.h"
#include "runtime/exchange/library_allreduce.h"
#include "runtime/exchange/nccl_use.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/exchange/way_candidates.h"
#include "runtime/exchange/without_direct.h"
#include "runtime/selection/timing_plan.h"

namespace slipway::runtime {
namespace {

constexpr Reduction kMeasuredSum{SLIPWAY_FLOAT32, SLIPWAY_SUM};
constexpr std::int64_t kLargestMeasured = 16 << 20;  ///< bytes
constexpr std::int64_t kSizeFactor = 4;              ///< from one measured size to the next
constexpr double kSecondsOfTimes = 0.3;
constexpr const char* kIsNotCanonical =
    "deterministic: canonical wants its own order of sums; set gpu_exchange to auto";

/// 16-bit floats may go by it.
bool RoundsOnce(CombineWay way) { return way == CombineWay::kStaged || way == CombineWay::kDirect; }

std::unique_ptr<GroupAllreduce> MakeByGpus(CombineWay way, const DevicePlace& place, const TeamSettings& settings,
                                           Group& group) {
  switch (way) {
    case CombineWay::kDirect: return DirectBounce::Make(place, group, settings.gpu_waits);
    case CombineWay::kNccl: return NcclAllreduce::Make(place, group, settings.gpu_exchange);
    case CombineWay::kNcclInNodes: return NodeNcclAllreduce::Make(place, group, settings.gpu_exchange);
    case CombineWay::kMpi: return MpiAllreduce::Make(place, group);
    case CombineWay::kStaged: return nullptr;
  }
  return nullptr;
}

/// The CPU combines messages of up to `small` bytes.
AllreduceTable TableOf(const std::vector<AllreduceTime>& times, std::int64_t small) {
  auto table = FastestBySize(std::span<const AllreduceTime>(times));
  std::erase_if(table, [small](const auto& entry) { return entry.last <= small; });
  if (!table.empty() && table.front().way != CombineWay::kStaged) {
    table.insert(table.begin(), {small, CombineWay::kStaged});
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
    sizes.back()[std::string(WordOf(way))] = 1e3 * seconds;
  }
  return sizes;
}

}  // namespace

std::vector<AllreduceTime> MeasureAllreduces(const DevicePlace& place, std::span<const GpuAllreduce> ways,
                                             Group& group) {
  SampleMessage sample(place, kLargestMeasured, kMeasuredSum, group);
  TimingPlan plan(SizesFromBothEnds(kAlwaysThroughCpu, kLargestMeasured, kSizeFactor),
                  1 + static_cast<int>(ways.size()), kSecondsOfTimes);
  std::vector<AllreduceTime> times;
  const auto add = [&](std::int64_t bytes, CombineWay way, const auto& seconds_of) {
    int rounds = 0;
    const double seconds = seconds_of([&](double of_one) { return rounds = plan.RoundsOf(of_one); });
    plan.Spend(seconds, 1 + rounds);
    times.push_back({bytes, way, seconds});
  };
  while (const auto bytes = plan.NextSize()) {
    const auto count = *bytes / static_cast<std::int64_t>(sizeof(float));
    add(*bytes, CombineWay::kStaged, [&](const auto& rounds) { return sample.SecondsThroughCpu(*bytes, rounds); });
    for (const auto& each : ways) {
      const auto round = [&] {
        each.by->Allreduce(sample.data(), count, kMeasuredSum, group, sample.stream());
        each.by->AwaitSums(group.communicator().waiter());  // the driver would wait for a dead rank for ever
        sample.AwaitGpu();
      };
      add(*bytes, each.way, [&](const auto& rounds) { return sample.Seconds(round, rounds); });
    }
  }
  std::ranges::stable_sort(times, {}, &AllreduceTime::bytes);
  return times;
}

bool AllreduceWays::MayTime(const TeamSettings& settings, const Group& group) {
  const auto asked = settings.gpu_exchange;
  if (asked == GpuExchange::kAuto) return true;
  return asked == GpuExchange::kNccl && !group.selection().canonical && NcclWays(group).size() > 1;
}

AllreduceWays AllreduceWays::Choose(const DevicePlace& place, const TeamSettings& settings,
                                    const AllreduceTimer& measure, Group& group) {
  AllreduceWays chosen;
  chosen.named_ = settings.gpu_exchange != GpuExchange::kAuto;
  chosen.in_order_of_ranks_ = CpuAddsInOrderOfRanks(group);
  FreeNothingIfParted([&] {
    if (chosen.named_) {
      chosen.TakeNamed(place, settings, measure, group);
    } else if (chosen.in_order_of_ranks_ || OtherBitsAreGood(settings, group)) {
      chosen.TakeFastest(place, settings, measure, group);
    } else {
      // Else the bits would depend on what a GPU can, such as by its free memory.
      chosen.without_.emplace_back(CombineWay::kDirect, WordsOf(WithoutDirect(DirectObstacle::kOrder)));
    }
  });
  return chosen;
}

void AllreduceWays::TakeNamed(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure,
                              Group& group) {
  const auto named = settings.gpu_exchange;
  const bool by_library = named == GpuExchange::kNccl || named == GpuExchange::kMpi;
  if (by_library && group.selection().canonical) {
    without_.emplace_back(named == GpuExchange::kNccl ? CombineWay::kNccl : CombineWay::kMpi, kIsNotCanonical);
  } else if (named == GpuExchange::kNccl) {
    TryNccl(place, settings, group);
  } else if (named == GpuExchange::kMpi) {
    TryToMake(CombineWay::kMpi, place, settings, group);
  }
  if (made_.empty() && !without_.empty() && group.rank() == 0) {
    std::fputs(fmt::format("slipway: warning: {} does not combine memory of GPUs here: {}\n",
                           named == GpuExchange::kNccl ? "NCCL" : "MPI", without_.front().second)
                   .c_str(),
               stderr);
  }
  if (made_.empty()) Make(CombineWay::kDirect, place, settings, group);
  if (!made_.empty()) of_wide_ = of_narrow_ = {{kAnySize, made_.front().way}};
  if (made_.size() > 1) Measure(place, measure, group);
}

void AllreduceWays::TakeFastest(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure,
                                Group& group) {
  if (group.on_one_node()) {
    TryToMake(CombineWay::kDirect, place, settings, group);  // first: it is preferred
  } else {
    without_.emplace_back(CombineWay::kDirect, WordsOf(WithoutDirect(DirectObstacle::kNodes)));
  }
  if (OtherBitsAreGood(settings, group)) {
    if (const auto only_user = NcclUse::Alone(group.communicator())) {
      TryNccl(place, settings, group);
    } else {
      without_.emplace_back(CombineWay::kNccl, kNcclIsInUse);
    }
    if (settings.gpu_mpi_has_worked) {
      TryToMake(CombineWay::kMpi, place, settings, group);
    } else {
      without_.emplace_back(CombineWay::kMpi, kMpiIsUntried);
    }
  }
  if (!made_.empty()) Measure(place, measure, group);
}

void AllreduceWays::TryNccl(const DevicePlace& place, const TeamSettings& settings, Group& group) {
  for (const auto way : NcclWays(group)) TryToMake(way, place, settings, group);
}

/// Takes the fastest ones of what was made, and of the CPU unless a way is named.
void AllreduceWays::Measure(const DevicePlace& place, const AllreduceTimer& measure, Group& group) {
  not_measured_ = WhyNot([&] { times_ = measure(place, made_, group); });
  std::vector<AllreduceTime> of_wide, of_narrow;
  for (const auto& time : times_) {
    if (named_ && time.way == CombineWay::kStaged) continue;
    of_wide.push_back(time);
    if (named_ || RoundsOnce(time.way)) of_narrow.push_back(time);
  }
  if (!named_ || !of_wide.empty()) {
    const auto small = named_ ? kSmallWithoutTimes : kAlwaysThroughCpu;
    of_wide_ = TableOf(of_wide, small);
    of_narrow_ = TableOf(of_narrow, small);
  }
  EndUnused(group);
}

/// Keeps the reason where it cannot be. Errors: those of Make().
void AllreduceWays::TryToMake(CombineWay way, const DevicePlace& place, const TeamSettings& settings, Group& group) {
  auto why = Make(way, place, settings, group);
  if (!why.empty()) without_.emplace_back(way, std::move(why));
}

/// Empty, or why it cannot be. Errors: those of DirectBounce::Make(); PartedError.
std::string AllreduceWays::Make(CombineWay way, const DevicePlace& place, const TeamSettings& settings, Group& group) {
  std::unique_ptr<GroupAllreduce> by;
  const auto make = [&] { by = MakeByGpus(way, place, settings, group); };
  std::string why;
  if (way == CombineWay::kDirect) {
    make();
    if (by == nullptr) why = "a GPU has no memory left, or the GPUs cannot add up in each other's memory";
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

const GpuAllreduce* AllreduceWays::For(std::int64_t bytes, const Reduction& reduction) const {
  const auto way = WayFor(IsWideFloat(reduction.dtype) ? of_wide_ : of_narrow_, bytes, CombineWay::kStaged);
  const auto found = std::ranges::find(made_, way, &GpuAllreduce::way);
  return found != made_.end() && found->by->Takes(reduction) ? &*found : nullptr;
}

bool AllreduceWays::HaveBitsOfCpu() const {
  return std::ranges::all_of(
      made_, [this](const auto& each) { return each.way == CombineWay::kDirect && in_order_of_ranks_; });
}

bool AllreduceWays::GpuMpiHasWorked() const {
  return std::ranges::any_of(made_, [](const auto& each) { return each.by->GpuMpiHasWorked(); });
}

void AllreduceWays::AwaitSums(Waiter& waiter) {
  for (const auto& each : made_) each.by->AwaitSums(waiter);
}

void AllreduceWays::Close() {
  FreeNothingIfParted([&] {
    for (const auto& each : made_) each.by->Close();
  });
}

Json AllreduceWays::Facts() const {
  if (named_ && times_.empty() && not_measured_.empty()) return {};
  Json facts{{"ways", ToJson(of_wide_)}, {"measured_ms", MillisecondsOf(times_)}};
  const auto direct = std::ranges::find(made_, CombineWay::kDirect, &GpuAllreduce::way);
  if (direct != made_.end()) facts["waits"] = WordOf(direct->by->waits());
  if (of_narrow_ != of_wide_) facts["ways_of_16_bits"] = ToJson(of_narrow_);
  for (const auto& [way, why] : without_) facts[fmt::format("without_{}", WordOf(way))] = why;
  if (!not_measured_.empty()) facts["not_measured"] = not_measured_;
  return facts;
}

}  // namespace slipway::runtime
