/// Allreduce of memory of a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/device/workbench.h"
#include "runtime/exchange/direct_bounce.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Whether the bits of an allreduce of up to `bytes` bytes do not depend on how it is divided into messages.
bool SplitsFreely(const Group& group, std::int64_t bytes);

/// The allreduces of a process, with what they keep from one to the next. Any thread, one for each group.
class DeviceAllreduces {
 public:
  explicit DeviceAllreduces(Workbenches& benches) : benches_(benches) {}

  /// Combines `count` elements on a device over all ranks, in place, after what `stream` was given so far; later work
  /// of `stream` finds the result. Collective.
  ///
  /// Way:    by the GPUs where these reach each other (DirectBounce). Else part by part through the CPU's memory, where
  ///         the bits allow it: while one part is combined, the next ones come and earlier ones go back.
  /// Memory: 32 MiB of the GPU; else four parts of 2 MiB, or the whole message.
  /// Errors: as Allreduce(); DeviceError.
  void Allreduce(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream);
  /// kStaged: the GPUs never combine themselves. The same on all ranks.
  void Use(GpuExchange way) { way_ = way; }
  /// Before the group ends. Collective over it.
  void Forget(Group& group);
  /// Before the job ends, and before a barrier: the ranks free their blocks after it.
  void Close();

 private:
  DirectBounce* BounceOf(const DevicePlace& place, Group& group);

  Workbenches& benches_;
  GpuExchange way_ = GpuExchange::kAuto;
  std::mutex mutex_;
  std::map<const Group*, std::unique_ptr<DirectBounce>> bounces_;  ///< null: not possible
};

}  // namespace slipway::runtime
