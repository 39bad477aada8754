/// Allreduce by the GPUs of a group.
#pragma once

#include <cstdint>

#include "runtime/device/stream.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/group/waiter.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Call::gpu of an allreduce by the GPUs: they work with the first one that a rank has brought memory of.
inline constexpr std::uint8_t kFirstGpu = 1;

class GroupAllreduce {
 public:
  virtual ~GroupAllreduce() = default;

  /// Who waits for the GPUs.
  virtual GpuWaits waits() const { return GpuWaits::kCpu; }
  /// Ends what ranks share. Collective. Nothing may be called after it.
  /// Errors: PartedError where sums are still to come: (DEVICE), (STALLED).
  virtual void Close() = 0;
  /// Returns when the CPU finds the sums of all allreduces that have returned, too; at once while a thread is in the
  /// next one. One that begins meanwhile waits for the end of this. NCCL and MPI have been waited for, but for the
  /// division of MPI's means. Any thread, with a waiter of its own. Errors: DeviceError; RuntimeError(STALLED) when a
  /// rank is dead, or as of StepEvents::Await().
  virtual void AwaitSums(Waiter&) {}
  /// Whether MPI has combined a message, which it was given in the memory of GPUs. Not beside Allreduce().
  virtual bool GpuMpiHasWorked() const { return false; }
  /// Whether it combines like this, of sums and means of floats. The same on all ranks.
  virtual bool Takes(const Reduction&) const { return true; }
  /// As DeviceAllreduces::Allreduce(), of sums and means of floats.
  virtual void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                         StreamHandle stream) = 0;
};

}  // namespace slipway::runtime
