#include "runtime/exchange/gpu_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/exchange/direct_tensors.h"
#include "runtime/exchange/mpi_tensors.h"
#include "runtime/exchange/nccl_tensors.h"
#include "runtime/exchange/nccl_use.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/exchange/way_candidates.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kMostMeasured = 32 << 20;  ///< bytes

using Way = CombineWay;

std::unique_ptr<CombinedTensors> MakeByLibrary(Way way, const GpuTask& task, Group& group) {
  switch (way) {
    case Way::kStaged:
    case Way::kDirect: return nullptr;
    case Way::kNccl: return NcclTensors::Make(task.place, task.tensors, task.settings, group);
    case Way::kNcclInNodes: return NodeNcclTensors::Make(task.place, task.tensors, task.settings, group);
    case Way::kMpi: return MpiTensors::Make(task.place, task.tensors, task.settings.op, group);
  }
  return nullptr;
}

/// The program may free the tensors then. Collective.
void End(std::unique_ptr<CombinedTensors> combined, Group& group) {
  const bool mapped = combined != nullptr && combined->MapsMemory();
  combined.reset();
  if (mapped) group.communicator().Barrier();
}

void SetBuckets(CombinedTensors& made, std::int64_t bytes) { made.SetBuckets(PlanBuckets(made.values(), bytes)); }

/// With its buckets. Collective. Errors: a GPU that has no memory left, or fails.
MadeDirect MakeDirect(const GpuTask& task, Group& group) {
  MadeDirect made;
  UnmapOnError(
      group.communicator(), [&] { made.tensors.reset(); },
      [&] {
        made = DirectTensors::Make(task.place, task.tensors, task.settings.op, group, task.settings.gpu_waits);
        if (made.tensors != nullptr) SetBuckets(*made.tensors, task.bucket_bytes);
      });
  return made;
}

/// Null: not by GPUs, or this cannot be. Collective. Errors: those of MakeDirect(), and of NCCL's and MPI's ways.
std::unique_ptr<CombinedTensors> Make(Way way, const GpuTask& task, Group& group) {
  if (way == Way::kDirect) return MakeDirect(task, group).tensors;
  auto made = MakeByLibrary(way, task, group);
  if (made != nullptr) SetBuckets(*made, task.bucket_bytes);
  return made;
}

/// A message on the GPU that stands for a bucket of the team.
class Sample {
 public:
  Sample(const GpuTask& task, Group& group)
      : task_(task),
        group_(group),
        bytes_(BytesOfMessage(task.tensors)),
        message_(task.place, bytes_, {DtypeOf(task.tensors), task.settings.op}, group) {}

  /// Collective. Errors: those of Make(), and of SampleMessage::Seconds().
  double Milliseconds(Way way) {
    const auto dtype = DtypeOf(task_.tensors);
    const TensorInfo tensor{"sample", dtype, {bytes_ / static_cast<std::int64_t>(SizeOf(dtype))}, message_.data()};
    auto task = task_;
    task.tensors = {&tensor, 1};
    task.bucket_bytes = bytes_;
    auto combined = Make(way, task, group_);
    if (combined == nullptr) return 1e3 * message_.SecondsThroughCpu(bytes_);
    const auto round = [&] {
      combined->Combine(0, group_);
      combined->AwaitResult(group_.communicator().waiter());
    };
    double seconds = 0;
    FreeNothingIfParted([&] { seconds = message_.Seconds(round); });
    End(std::move(combined), group_);
    return 1e3 * seconds;
  }

 private:
  static slipway_dtype DtypeOf(std::span<const TensorInfo> tensors) {
    const auto first = std::ranges::find_if(tensors, [](const auto& tensor) { return tensor.count() > 0; });
    return first == tensors.end() ? SLIPWAY_FLOAT32 : first->dtype;
  }
  static std::int64_t BytesOfMessage(std::span<const TensorInfo> tensors) {
    std::int64_t bytes = 0;
    for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.bytes());
    const auto most = std::min(bytes, kMostMeasured);
    return std::max<std::int64_t>(most - most % 8, 8);
  }

  const GpuTask& task_;
  Group& group_;
  std::int64_t bytes_;
  SampleMessage message_;
};

struct Candidates {
  std::vector<MeasuredWay> times;

  /// Errors: also when a way cannot be used; then none of `more` is a candidate.
  void Measure(std::span<const Way> more, const GpuTask& task, Group& group) {
    Sample sample(task, group);
    std::vector<MeasuredWay> measured;
    for (const auto way : more) measured.push_back({way, sample.Milliseconds(way)});
    times.insert(times.end(), measured.begin(), measured.end());
  }
  /// The same; empty, or why they cannot be used.
  std::string Try(std::span<const Way> more, const GpuTask& task, Group& group) {
    return WhyNot([&] { Measure(more, task, group); });
  }
  Way Fastest() const { return std::ranges::min_element(times, {}, &MeasuredWay::milliseconds)->way; }
};

bool MayHaveOtherBits(const GpuTask& task, const Group& group) {
  return OtherBitsAreGood(task.settings, group) && std::ranges::all_of(task.tensors, [](const auto& tensor) {
           return tensor.count() == 0 || IsWideFloat(tensor.dtype);
         });
}

/// Or why not. Collective. Errors: those of MakeDirect().
GpuWay TryDirect(const GpuTask& task, Group& group) {
  GpuWay tried;
  tried.without_direct = task.not_plain;
  if (task.not_plain) return tried;
  auto made = MakeDirect(task, group);
  tried.tensors = std::move(made.tensors);
  tried.without_direct = made.without;
  return tried;
}

/// Whether the memory that is left on a GPU, or its driver, would decide the bits, which are to be the same in every
/// run.
bool ChanceDecidesBits(const GpuTask& task, const Group& group) {
  return group.on_one_node() && !CpuAddsInOrderOfRanks(group) && !OtherBitsAreGood(task.settings, group);
}

GpuWay Automatic(const GpuTask& task, Group& group) {
  GpuWay chosen;
  if (ChanceDecidesBits(task, group)) {
    chosen.without_direct = DirectObstacle::kOrder;
    return chosen;
  }
  const bool fits = FitsIntoGpus([&] { chosen = TryDirect(task, group); });
  if (!fits) chosen.without_direct = DirectObstacle::kFull;
  if (!MayHaveOtherBits(task, group)) return chosen;
  const auto usual = chosen.tensors != nullptr ? Way::kDirect : Way::kStaged;
  constexpr std::array kByMpi = {Way::kMpi};
  Candidates candidates;
  if (const auto why = candidates.Try({&usual, 1}, task, group); !why.empty()) {
    chosen.without_nccl = chosen.without_mpi = why;
    return chosen;
  }
  const auto only_user = NcclUse::Alone(group.communicator());  // until the choice is made
  chosen.without_nccl = only_user != nullptr ? candidates.Try(NcclWays(group), task, group) : kNcclIsInUse;
  chosen.without_mpi = task.settings.gpu_mpi_has_worked ? candidates.Try(kByMpi, task, group) : kMpiIsUntried;
  const auto way = candidates.Fastest();
  chosen.measured = std::move(candidates.times);
  if (way == usual) return chosen;
  auto& without = way == Way::kMpi ? chosen.without_mpi : chosen.without_nccl;
  without = WhyNot([&] {
    auto faster = Make(way, task, group);
    if (faster != nullptr) End(std::exchange(chosen.tensors, std::move(faster)), group);
  });
  return chosen;
}

/// With sums in an order that is not ours: NCCL's or MPI's.
GpuWay InItsOwnOrder(std::span<const Way> ways, const char* by, const GpuTask& task, Group& group) {
  if (task.not_plain || group.selection().canonical) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("team '{}' cannot be exchanged by {}: that is for mode sync without clip_norm, "
                                   "check_finite, compress and accumulate, and not with deterministic: canonical; set "
                                   "gpu_exchange to auto",
                                   task.team, by));
  }
  Candidates candidates;
  if (ways.size() > 1) candidates.Measure(ways, task, group);
  const auto way = ways.size() > 1 ? candidates.Fastest() : ways.front();
  GpuWay chosen;
  chosen.tensors = Make(way, task, group);
  chosen.measured = std::move(candidates.times);
  return chosen;
}

GpuWay Direct(const GpuTask& task, Group& group) {
  GpuWay chosen = TryDirect(task, group);
  if (chosen.tensors != nullptr) return chosen;
  throw RuntimeError(
      SLIPWAY_ERROR_ARGUMENT,
      fmt::format("team '{}' cannot be exchanged within the memory of GPUs: that is for float tensors, "
                  "op sum or mean, mode sync without clip_norm, check_finite, compress and accumulate, on "
                  "ranks of one node whose GPUs reach each other, but {}; set gpu_exchange to auto",
                  task.team, WordsOf(*chosen.without_direct)));
}

}  // namespace

GpuWay ChooseGpuWay(const GpuTask& task, Group& group) {
  switch (task.settings.gpu_exchange) {
    case GpuExchange::kStaged: return {};
    case GpuExchange::kDirect: return Direct(task, group);
    case GpuExchange::kNccl: return InItsOwnOrder(NcclWays(group), "NCCL", task, group);
    case GpuExchange::kMpi: return InItsOwnOrder(std::array{Way::kMpi}, "MPI", task, group);
    case GpuExchange::kAuto: break;
  }
  return task.not_plain ? TryDirect(task, group) : Automatic(task, group);
}

}  // namespace slipway::runtime
