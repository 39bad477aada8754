/// Allreduce of memory of a GPU.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/workbench.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Whether the bits of an allreduce of up to `bytes` bytes do not depend on how it is divided into messages.
bool SplitsFreely(const Group& group, std::int64_t bytes);

/// Combines `count` elements on a device through the CPU's memory, in place: while one part is combined, the next ones
/// come and earlier ones go back (PartsOf). Later work of `stream` finds the result. Collective.
/// Errors: as Allreduce(); DeviceError before the ranks meet, and PartedError from then on.
void AllreduceThroughCpu(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                         Group& group, StreamHandle stream, Workbenches& benches);

/// How much of the bench's memory that takes.
std::int64_t BytesOfBench(std::int64_t count, const Reduction& reduction, Group& group);

/// The allreduces of a process, with what they keep from one to the next. Any thread, one for each group.
class DeviceAllreduces {
 public:
  explicit DeviceAllreduces(Workbenches& benches) : benches_(benches) {}

  /// Combines `count` elements on a device over all ranks, in place, after what `stream` was given so far; later work
  /// of `stream` finds the result. Collective.
  ///
  /// Way:    sums and means of floats by NCCL or MPI where that is asked for, or by the GPUs where these reach each
  ///         other (DirectBounce). Else AllreduceThroughCpu(), also on another GPU than that of the first allreduce;
  ///         between nodes the memory of some ranks may then be that of the CPU, for a message of one part.
  /// Memory: 32 MiB of the GPU, where it has them; else four parts (PartsOf), or the whole message.
  /// Errors: as Allreduce(); DeviceError before the ranks meet, and PartedError from then on; MISMATCH on all ranks
  ///         where only some have changed their GPU. The same within a node, and between nodes with NCCL and MPI,
  ///         where only some have brought memory of a GPU.
  void Allreduce(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream);
  /// Before the CPU combines memory of its own. Compares with ranks whose memory may be on GPUs, where nothing after it
  /// does: between nodes, with kNccl and kMpi. Collective.
  /// Cost:   there, for a large message, an allgather of 16 bytes; else none.
  /// Errors: MISMATCH on all ranks; STALLED.
  void RequireCpuMemoryOnAll(std::int64_t count, const Reduction& reduction, Group& group) const;
  /// kStaged: the GPUs never combine themselves; kNccl and kMpi: by these where they can be used. The same on all
  /// ranks. `waits`: of DirectBounce.
  void Use(GpuExchange way, GpuWaits waits) {
    way_ = way;
    waits_ = waits;
  }
  /// Returns when the CPU finds the sums of all allreduces that have returned, too. Leaves out groups whose thread is
  /// in the next one. Errors: DeviceError; RuntimeError(STALLED) when a rank is dead.
  void AwaitSums(Waiter& waiter);
  /// Before the group ends. Collective over it.
  void Forget(Group& group);
  /// Before the job ends, and before a barrier: the ranks free their blocks after it.
  void Close();

 private:
  struct OfGroup {
    const Group* group = nullptr;
    std::unique_ptr<GroupAllreduce> by_gpus;  ///< null: not possible
    std::vector<DevicePlace> places;          ///< of this rank's memory so far; the first is that of `by_gpus`
  };
  bool IsForGpus(std::int64_t count, const Reduction& reduction, const Group& group) const;
  OfGroup& Known(const DevicePlace& place, const Call& call, Group& group);
  std::list<OfGroup>::iterator Find(const Group& group);
  std::unique_ptr<GroupAllreduce> MakeByGpus(const DevicePlace& place, Group& group) const;

  Workbenches& benches_;
  GpuExchange way_ = GpuExchange::kAuto;
  GpuWaits waits_ = GpuWaits::kCpu;
  std::mutex mutex_;
  std::list<OfGroup> groups_;  ///< in the order of their first allreduces, which is that of all ranks
};

}  // namespace slipway::runtime
