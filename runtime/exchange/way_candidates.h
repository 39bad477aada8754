/// What chooses among the ways that may combine memory of GPUs: which are candidates, and how long each takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/device/workbench.h"
#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Whether NCCL and MPI, which add up in orders of their own, are candidates where none is named.
bool OtherBitsAreGood(const TeamSettings& settings, const Group& group);
/// Why MPI is none although it may be.
inline constexpr const char* kMpiIsUntried = "no job with gpu_exchange mpi has ended here yet";
/// Whether the CPU adds up messages of every size in the order of the ranks, as the GPUs of a node do.
bool CpuAddsInOrderOfRanks(const Group& group);
/// Those by which NCCL can combine for this group, the preferred one first.
std::vector<CombineWay> NcclWays(const Group& group);
/// False of 16-bit floats: NCCL and MPI round them after each addition, where the exchange promises once.
bool IsWideFloat(slipway_dtype dtype);

/// A message in memory of this rank's GPU, by which ways are timed. Its values do not matter.
class SampleMessage {
 public:
  /// How many rounds a median is made of: the same on all ranks. `seconds`: what one took, the same on all ranks.
  using Rounds = std::function<int(double seconds)>;

  /// Of up to `bytes` bytes. Collective. Errors: RuntimeError on all ranks, as of a GPU without memory.
  SampleMessage(const DevicePlace& place, std::int64_t bytes, const Reduction& reduction, Group& group);

  char* data() const { return block_->data(); }
  StreamHandle stream() const { return stream_->handle(); }
  /// Returns when the GPU has done what stream() was given.
  void AwaitGpu();

  /// The median of some rounds, of the slowest rank. A round before them does not count. The ranks begin each together.
  /// Collective. Errors: those of a round, in which the other ranks are, too: PartedError.
  double Seconds(const std::function<void()>& round, const Rounds& rounds = OfTeams);
  /// The same, of `bytes` bytes through the CPU.
  double SecondsThroughCpu(std::int64_t bytes, const Rounds& rounds = OfTeams);

 private:
  static int OfTeams(double) { return 5; }
  std::uint64_t NanosecondsOf(const std::function<void()>& round);

  DevicePlace place_;
  Reduction reduction_;
  Group& group_;
  Workbenches benches_;
  std::optional<DeviceBlock> block_;
  std::optional<DeviceStream> stream_;
};

}  // namespace slipway::runtime
