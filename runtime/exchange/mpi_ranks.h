/// Ranks whose MPI takes memory of GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/device/device_memory.h"
#include "runtime/group/blocking_calls.h"
#include "runtime/group/communicator.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// MPI's blocking allreduce on memory of a GPU: what does not block is of the CPU alone in most MPIs. It runs in a
/// thread of its own where MPI allows that, so that the watch can end a wait for a rank that has died.
///
/// Limits: one thread at a time. All ranks call the same in the same order, and not before all of them are about to.
class MpiRanks {
 public:
  /// Adds up a few numbers on the GPUs first. Where the transport cannot reach their memory in spite of what MPI says,
  /// the process may end by a signal here. Collective.
  /// Errors: RuntimeError(DEVICE) on all ranks: MPI says no on one of them, does not say, or gives wrong sums; those of
  /// AddUp().
  static std::unique_ptr<MpiRanks> Connect(const DevicePlace& place, Communicator& ranks);
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;
  ~MpiRanks();

  /// Whether it adds up values of this kind; a mean is the sum for it.
  static bool Knows(slipway_dtype dtype);

  /// Adds up over all ranks, in place, and waits for it. The device has done what it was given for this memory.
  /// Errors: DeviceError; PartedError: MPI; STALLED naming a rank that has died, or all ranks when nothing moves.
  void AddUp(char* data, std::int64_t count, slipway_dtype dtype);

 private:
  MpiRanks(const DevicePlace& place, Communicator& ranks, std::unique_ptr<Communicator> own);
  bool Works();

  DevicePlace place_;
  Communicator& ranks_;
  std::unique_ptr<Communicator> own_;
  std::optional<BlockingCalls> calls_;  ///< nothing: MPI allows one thread only
};

}  // namespace slipway::runtime
