/// Allreduce of memory of a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "runtime/device/workbench.h"
#include "runtime/exchange/allreduce_ways.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// The allreduces of a process, with what they keep from one to the next. Any thread, one for each group.
class DeviceAllreduces {
 public:
  explicit DeviceAllreduces(Workbenches& benches, AllreduceTimer measure = MeasureAllreduces)
      : benches_(benches), measure_(std::move(measure)) {}

  /// Combines `count` elements on a device over all ranks, in place, after what `stream` was given so far; later work
  /// of `stream` finds the result. Returns who has combined them. Collective.
  ///
  /// Way:    sums and means of floats as AllreduceWays says, which the first large one of a group chooses. Else
  ///         AllreduceThroughCpu(), also on another GPU than that of the first allreduce; between nodes the memory of
  ///         some ranks may then be that of the CPU, for a message of one part.
  /// Memory: 32 MiB of the GPU, where the GPUs combine; else four parts (PartsOf), or the whole message.
  /// Errors: as Allreduce(); DeviceError before the ranks meet, and PartedError from then on; MISMATCH on all ranks
  ///         where the GPUs combine and only some ranks have changed their GPU, or brought memory of one. The latter
  ///         also at the choice, and between nodes with a named way; with kAuto STALLED at the choice there.
  CombineWay Allreduce(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                       Group& group, StreamHandle stream);
  /// Before the CPU combines memory of its own. Compares with ranks whose memory may be on GPUs, where nothing after it
  /// does: between nodes, with kNccl and kMpi, and with kAuto where the GPUs of this group combine such messages.
  /// Collective.
  /// Cost:   there, for a large message, an allgather of 16 bytes; else none.
  /// Errors: MISMATCH on all ranks; STALLED.
  void RequireCpuMemoryOnAll(std::int64_t count, const Reduction& reduction, Group& group) const;
  /// Before the first allreduce. The same on all ranks.
  void Use(const TeamSettings& settings) { settings_ = settings; }
  /// Returns when the CPU finds the sums of all allreduces by the GPUs of a node that have returned, too. Leaves out
  /// groups whose thread is in the next one. A thread that begins the next one of a group meanwhile waits until the
  /// sums of that group are there. Errors: those of GroupAllreduce::AwaitSums().
  void AwaitSums(Waiter& waiter);
  /// Before the group ends. Collective over it.
  void Forget(Group& group);
  /// Before the job ends, and before a barrier: the ranks free their blocks after it. All ranks close their groups in
  /// one order. Collective over it.
  void Close(const Group& group);

  /// `gpu_allreduce` of comm.json: an entry for each group of the job in which ways were chosen, also of those that
  /// have ended. The same on all ranks of `job`. Collective.
  /// Cost: an allgather of 8 bytes, and a broadcast from the first rank of each group without rank 0.
  Json FactsOfAll(Communicator& job) const;
  /// Whether all sums have the bits that the CPU gives.
  bool HaveBitsOfCpu() const;
  /// Of each group for which MPI has combined memory of GPUs, also of those that have ended: how many nodes it is on.
  /// While no thread is in an allreduce.
  std::vector<int> NodesOfGpuMpi() const;

 private:
  struct OfGroup {
    const Group* group = nullptr;
    AllreduceWays ways;
    std::vector<DevicePlace> places;  ///< of this rank's memory so far; the first is that of `ways`
  };
  bool IsForGpus(std::int64_t count, const Reduction& reduction, const Group& group) const;
  using Groups = std::vector<std::shared_ptr<OfGroup>>;
  OfGroup& Known(const DevicePlace& place, const Call& call, Group& group, StreamHandle stream);
  std::shared_ptr<OfGroup> Find(const Group& group) const;

  Workbenches& benches_;
  AllreduceTimer measure_;
  TeamSettings settings_;
  mutable std::mutex mutex_;
  Groups groups_;                      ///< in the order of their first allreduces in this process
  std::vector<std::string> facts_;     ///< JSON; of groups that this rank reports, also of those that have ended
  bool bits_of_cpu_ = true;            ///< of all groups, also of those that have ended
  std::vector<int> nodes_of_gpu_mpi_;  ///< of those that have ended
};

}  // namespace slipway::runtime
