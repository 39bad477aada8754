/// What copies between a GPU and the CPU need, kept from one operation to the next.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

/// Pinned memory that the node's ranks can reach, and streams of its own.
struct Workbench {
  static constexpr std::size_t kSlots = 4;

  /// Errors: DeviceError, and those of the pool.
  Workbench(const DevicePlace& on, std::int64_t size, SharedPool& pool);

  DevicePlace place;
  std::int64_t bytes = 0;
  PoolMemory memory;
  PinnedRange pinned;
  DeviceEvent made;                  ///< the program's stream, when the operation began
  DeviceEvent done;                  ///< the last copy to the device
  std::vector<DeviceEvent> arrived;  ///< by slot: its copy to the CPU
  std::vector<DeviceEvent> stored;   ///< by slot: its copy to the device
  DeviceStream to_cpu;               // last: their ends wait for the copies
  DeviceStream to_device;
};

/// The benches of a process. Any thread.
class Workbenches {
 public:
  explicit Workbenches(SharedPool& pool) : pool_(pool) {}

  /// A bench for one thread, until the end of its life; then it is kept. Of large ones, the last is.
  class Lease {
   public:
    /// With `bytes` bytes of memory or more. Errors: those of a bench.
    Lease(Workbenches& owner, const DevicePlace& place, std::int64_t bytes)
        : owner_(owner), bench_(owner.Take(place, bytes)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { owner_.Keep(std::move(bench_)); }
    Workbench& operator*() { return *bench_; }
    Workbench* operator->() { return bench_.get(); }

   private:
    Workbenches& owner_;
    std::unique_ptr<Workbench> bench_;
  };

 private:
  static constexpr std::int64_t kMostKept = 64 << 20;      ///< bytes of one bench; above it is large
  static constexpr std::int64_t kLargestKept = 512 << 20;  ///< bytes of the large one
  std::unique_ptr<Workbench> Take(const DevicePlace& place, std::int64_t bytes);
  void Keep(std::unique_ptr<Workbench> bench);

  SharedPool& pool_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workbench>> free_;
};

}  // namespace slipway::runtime
