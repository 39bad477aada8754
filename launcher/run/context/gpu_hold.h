/// The GPUs that a run or a step takes of this machine, so that runs of the same user share none.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/process.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// Locks of GPUs that the process which has started this one has handed over.
using GpuLocks = std::vector<UniqueFd>;

/// GPUs are known by name: a GPU named by number and by UUID is two.
class GpuHold {
 public:
  GpuHold() = default;
  /// Takes the first `most` of `devices` that no other holds, with a lock on a file in `folder` for each. A killed
  /// holder holds none. `holder`: how an error names this one; "another run" where the name cannot be written.
  /// Errors: Error(kEnvironment) with fewer than `least`; it names the other holders. SystemError.
  GpuHold(const std::filesystem::path& folder, const NodeDevices& devices, int least, int most,
          const std::string& holder);
  /// Locks none: another hands the devices out, or the locks cannot be had.
  explicit GpuHold(NodeDevices devices, std::string others = {})
      : devices_(std::move(devices)), others_(std::move(others)) {}
  /// Keeps locks whose devices are the only ones that this process sees.
  explicit GpuHold(GpuLocks given) : given_(std::move(given)) {}

  const NodeDevices& devices() const { return devices_; }
  /// "GPU 0 is held by run a, GPU 3 is held by run b": those that were looked at and not taken.
  const std::string& others() const { return others_; }

  /// Hands the locks to a child that calls TakeGivenGpuLocks. They last until the child has ended and this object, too:
  /// drop it once the child has started.
  void HandTo(SpawnOptions& child) const;

 private:
  std::vector<FileLock> locks_;
  GpuLocks given_;
  NodeDevices devices_;
  std::string others_;
};

/// Where this user's runs lock their GPUs: SLIPWAY_GPU_LOCKS, else a private folder of the node.
/// Errors: as PrivateFolderOfNode.
std::filesystem::path FolderOfGpuLocks();

/// What GpuHold::HandTo has handed to this process; no child gets it. Call it before a child is started.
GpuLocks TakeGivenGpuLocks();

/// Takes GPUs of this machine for a run on it, and lets this process and its children see no others. With `given` locks
/// it keeps those. Leaves GPUs alone that a batch system or another run has given out. Errors: as GpuHold.
GpuHold HoldGpusFor(const Spec& spec, const std::string& run, GpuLocks given);

/// Up to `most` of the devices for a step: those that no other run holds. All are free where a batch system or another
/// run has given them out. Where the locks cannot be had, those are free that no other is seen to hold.
GpuHold HoldWhatIsFree(const NodeDevices& devices, int most, const std::string& holder);

}  // namespace slipway::launcher
