/// Who combines messages in the memory of a group's GPUs: for each size the fastest way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/selection/fastest_by_size.h"

namespace slipway::runtime {

/// Up to here, in bytes, the CPU combines, and nothing is measured. Such a message takes the time of the calls to the
/// driver and of the ranks' meetings on every machine, and the way through the CPU has the fewest of both.
inline constexpr std::int64_t kAlwaysThroughCpu = 4 << 10;

/// Of a way that is named: up to here, in bytes, a copy costs less than two meetings of the GPUs.
inline constexpr std::int64_t kSmallWithoutTimes = 64 << 10;

/// A way by the GPUs.
struct GpuAllreduce {
  CombineWay way = CombineWay::kStaged;
  std::unique_ptr<GroupAllreduce> by;
};

using AllreduceTime = TimeOfWay<CombineWay>;
using AllreduceTable = std::vector<WayUpTo<CombineWay>>;

/// Times the way through the CPU and `ways` with messages of float32: as FastestBySize() takes them, the same on all
/// ranks. With kAlwaysThroughCpu and 16 MiB, and with sizes between as the time allows (TimingPlan). Collective.
/// Cost:   about 0.3 s, or as long as two rounds of each way take with both of these sizes; 16 MiB of the GPU, and as
///         much pinned memory, until it returns.
/// Errors: RuntimeError on all ranks, as of a GPU without memory; PartedError.
std::vector<AllreduceTime> MeasureAllreduces(const DevicePlace& place, std::span<const GpuAllreduce> ways,
                                             Group& group);
/// What MeasureAllreduces() does.
using AllreduceTimer =
    std::function<std::vector<AllreduceTime>(const DevicePlace&, std::span<const GpuAllreduce>, Group&)>;

class AllreduceWays {
 public:
  /// The way that the settings name, where it can be used; of those of NCCL the fastest one for each size. With `auto`
  /// the fastest one for each size: the CPU, or the GPUs of the node (DirectBounce). Where any bits are good the ways
  /// of NCCL are candidates, too, if no rank has another user of it (NcclUse::Alone()), and MPI where it has worked
  /// before. NCCL combines between all ranks, or as NcclInNodes where that suits. Where the ways would have other bits
  /// (CpuAddsInOrderOfRanks()), the CPU combines, as for teams. NCCL and MPI that are named are not used where the
  /// order of sums is to be the canonical one, and a warning says so. What keeps NCCL and MPI from being made, and all
  /// from being timed, is a reason for another way; without times the CPU combines. Collective.
  /// Errors: those of DirectBounce::Make(); PartedError, and then nothing that ranks share is freed.
  static AllreduceWays Choose(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure,
                              Group& group);

  /// Whether Choose() may time ways: what the program's GPU still does would count. The same on all ranks.
  static bool MayTime(const TeamSettings& settings, const Group& group);

  /// Null: the CPU combines. For sums and means of floats. The same on all ranks.
  const GpuAllreduce* For(std::int64_t bytes, const Reduction& reduction) const;
  /// Whether GPUs combine some messages.
  bool AnyByGpus() const { return !made_.empty(); }
  /// Whether all sums have the bits that the CPU gives.
  bool HaveBitsOfCpu() const;
  /// GroupAllreduce::GpuMpiHasWorked() of one of them.
  bool GpuMpiHasWorked() const;
  /// GroupAllreduce::AwaitSums() of all ways.
  void AwaitSums(Waiter& waiter);
  /// Ends what ranks share. Collective. Only the facts may be asked for after it. Errors: those of
  /// GroupAllreduce::Close().
  void Close();
  /// For comm.json: the table, and what it comes from. Null of a named way without a choice.
  Json Facts() const;

 private:
  void TakeNamed(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure, Group& group);
  void TryToMake(CombineWay way, const DevicePlace& place, const TeamSettings& settings, Group& group);
  void TakeFastest(const DevicePlace& place, const TeamSettings& settings, const AllreduceTimer& measure, Group& group);
  void TryNccl(const DevicePlace& place, const TeamSettings& settings, Group& group);
  void Measure(const DevicePlace& place, const AllreduceTimer& measure, Group& group);
  std::string Make(CombineWay way, const DevicePlace& place, const TeamSettings& settings, Group& group);
  bool Uses(CombineWay way) const;
  void EndUnused(Group& group);

  bool named_ = false;
  bool in_order_of_ranks_ = false;  ///< the CPU adds up
  std::vector<GpuAllreduce> made_;
  AllreduceTable of_wide_;    ///< for float32 and float64
  AllreduceTable of_narrow_;  ///< for 16-bit floats
  std::vector<AllreduceTime> times_;
  std::vector<std::pair<CombineWay, std::string>> without_;  ///< candidates that could not be made, and why
  std::string not_measured_;                                 ///< why the candidates were not timed
};

}  // namespace slipway::runtime
