/// The GPUs that a run takes of this machine, so that runs of the same user share none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// GPUs are known by name: a GPU named by number and by UUID is two.
class GpuHold {
 public:
  GpuHold() = default;
  /// Takes the first `most` of `devices` that no other holds, with a lock on a file in `folder` for each. A killed
  /// holder holds none. `holder`: how an error names this one.
  /// Errors: Error(kEnvironment) with fewer than `least`; it names the other holders. SystemError.
  GpuHold(const std::filesystem::path& folder, const NodeDevices& devices, int least, int most,
          const std::string& holder);

  const NodeDevices& devices() const { return devices_; }

 private:
  std::vector<FileLock> locks_;
  NodeDevices devices_;
};

/// Where this user's runs lock their GPUs: SLIPWAY_GPU_LOCKS, else a private folder of the node.
/// Errors: as PrivateFolderOfNode.
std::filesystem::path FolderOfGpuLocks();

/// Takes GPUs of this machine for a run on it, and lets this process and its children see no others. Leaves those
/// alone that a batch system or another run has given out. Errors: as GpuHold.
GpuHold HoldGpusFor(const Spec& spec, const std::string& run);

/// The same for a step, which starts all the same with devices that others hold.
GpuHold HoldWhatIsFree(const NodeDevices& devices, const std::string& holder);

/// Puts devices that another holds at the moment behind the others.
void PutHeldLast(std::vector<std::string>& names);

}  // namespace slipway::launcher
