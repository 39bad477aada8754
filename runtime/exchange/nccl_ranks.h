/// Ranks whose GPUs NCCL connects.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runtime/collectives/pieces.h"
#include "runtime/device/nccl.h"
#include "runtime/device/stream.h"
#include "runtime/exchange/nccl_use.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/communicator.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// NCCL's communicator of these ranks. It never blocks: the watch ends each wait, and names who is missing.
///
/// Limits: one thread at a time. All ranks call the same in the same order, and not before all of them are about to.
class NcclRanks {
 public:
  /// `asked`: what the settings name. Unless that is NCCL, ranks have other ways, and 30 s to connect, or half of the
  /// watch's limit. Collective.
  /// Cost:   some tenths of a second.
  /// Errors: RuntimeError(DEVICE) on all ranks: no NCCL, too old, ranks that share a GPU, what NCCL says, or ranks that
  ///         it does not connect in time; STALLED.
  static std::unique_ptr<NcclRanks> Connect(const DevicePlace& place, Communicator& ranks, GpuExchange asked);
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  /// Waits for the other ranks' ends, but not long: then it ends the communicator by force, and waits not long for
  /// that.
  ~NcclRanks();

  int size() const { return ranks_.size(); }
  int rank() const { return ranks_.rank(); }

  // Work of `stream`. Await() afterwards. Errors: PartedError(DEVICE).

  /// Each piece, in place.
  void AllReduce(Pieces pieces, const Reduction& reduction, StreamHandle stream);
  /// `share` elements for each rank lie in `data`, in the order of the ranks: this rank's become the result.
  void ReduceScatter(char* data, std::int64_t share, const Reduction& reduction, StreamHandle stream);
  /// The same memory: this rank's elements go to all.
  void AllGather(char* data, std::int64_t share, slipway_dtype dtype, StreamHandle stream);

  /// Returns when the device has got to the point, behind work of this communicator.
  /// Errors: PartedError: DEVICE; STALLED naming a rank that has died, or all ranks when nothing moves. The
  /// communicator has been ended by force then, so that the device can go on. Where NCCL does not return from that
  /// within 5 s, NoteGivingUp() holds.
  void Await(const DeviceEvent& point);
  /// The same, and the time in which others have to move begins when this rank's GPU has its `values`: what the program
  /// gave it before may take long.
  void Await(const DeviceEvent& values, const DeviceEvent& point);

 private:
  NcclRanks(const Nccl& nccl, const DevicePlace& place, Communicator& ranks);
  using Clock = std::chrono::steady_clock;
  std::optional<RuntimeError> Init(const Nccl::Id& id, std::optional<std::chrono::duration<double>> limit);
  bool Settle(const char* call, Clock::time_point end = Clock::time_point::max());
  void Abort();
  template <class Launch>
  void Queue(const char* call, Launch launch);
  /// What NCCL has found out by itself: success, in progress, or an error.
  int State() const;
  void GiveUp(int code, const char* call);

  const Nccl& nccl_;
  DevicePlace place_;
  Communicator& ranks_;
  NcclUse use_;
  Nccl::Communicator communicator_ = nullptr;
  bool has_queued_ = false;  ///< work of a GPU
};

}  // namespace slipway::runtime
