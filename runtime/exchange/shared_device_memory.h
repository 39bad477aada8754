/// Memory of GPUs that the ranks of a node reach.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/group/communicator.h"
#include "runtime/status.h"

namespace slipway::runtime {

/// Ranges of all ranks, each mapped into this process. An owner must not free its memory before the others have ended
/// their mapping.
class SharedDeviceMemory {
 public:
  /// `ranges`: of this rank, as many on each rank; null ones are empty. Null on all ranks when one of them cannot reach
  /// another's: another node, GPUs without a way to each other, memory of an allocator that cannot be shared.
  /// Collective.
  ///
  /// Source: CUDA Driver API, "cuIpcGetMemHandle": an allocation as a whole is shared.
  static std::unique_ptr<SharedDeviceMemory> Share(const DevicePlace& place, std::span<void* const> ranges,
                                                   Communicator& ranks);

  /// By rank.
  const std::vector<char*>& Of(std::size_t range) const { return at_[range]; }

 private:
  struct Range {
    IpcHandle allocation;
    std::uint64_t offset = 0;
    bool empty = true;
    bool shared = true;
  };
  explicit SharedDeviceMemory(const DevicePlace& place) : place_(place), mapped_(place) {}
  Range Describe(const void* range);
  bool Reach(std::span<void* const> own, std::span<const char> of_all, int rank);
  char* Map(int rank, const Range& range);

  DevicePlace place_;
  std::map<DeviceAddress, IpcHandle> own_;  ///< by allocation
  PeerAllocations mapped_;
  std::map<std::pair<int, IpcHandle>, char*> maps_;  ///< by rank and allocation, which can be mapped once
  std::vector<std::vector<char*>> at_;
};

/// Runs `action`, which throws on all ranks or on none. After an error `unmap` ends what this rank has mapped, and a
/// barrier comes: no rank frees what another one has mapped. After a PartedError no rank waits, and nothing is freed.
template <class Unmap, class Action>
void UnmapOnError(Communicator& ranks, Unmap unmap, Action action) {
  try {
    action();
  } catch (const PartedError&) {
    NoteGivingUp();
    throw;
  } catch (...) {
    unmap();
    ranks.Barrier();
    throw;
  }
}

}  // namespace slipway::runtime
