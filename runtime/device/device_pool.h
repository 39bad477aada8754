/// The memory behind slipway_alloc_on_device: blocks on GPUs that the other ranks of the node map once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/memory/shared_pool.h"

namespace slipway::runtime {

/// Other ranks may have a block mapped at any time. So a block that is freed waits for the next Allocate() of its size,
/// and none is given back to the driver before the process ends.
///
/// Safe to use from several threads.
class DevicePool {
 public:
  /// A block, for the other ranks.
  struct Shared {
    std::int64_t serial = 0;
    IpcHandle handle;
  };

  /// Zeroed. `device`: as the driver counts those that the process sees.
  /// Errors: RuntimeError: DEVICE when the program has loaded no driver of a GPU, or one that cannot share memory;
  ///         STATE for memory that was freed, while a stream of the GPU is captured; DeviceError.
  void* Allocate(int device, std::int64_t bytes);
  /// False for what Allocate() did not give, or was freed already.
  bool Free(const void* memory);

  /// Where `bytes` bytes from `data` lie.
  SharedLocation Find(const void* data, std::uint64_t bytes) const;
  /// All blocks on this device, those that wait included.
  std::vector<Shared> BlocksOn(const DevicePlace& place) const;
  /// The first byte of a block of this rank; null when there is no such block.
  char* FirstByte(std::int64_t serial) const;

 private:
  struct Owned {
    Shared shared;
    DevicePlace place;
    std::int64_t bytes = 0;
    char* data = nullptr;
    bool in_use = true;
  };
  Owned& Take(const DevicePlace& place, std::int64_t bytes);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Owned>> blocks_;  ///< by serial, from 1
};

}  // namespace slipway::runtime
