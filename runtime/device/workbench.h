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

  /// After an error in the middle of the copies: `done`, and what `program` is given from now on, are behind those that
  /// are queued, in both directions.
  void EndEarly(StreamHandle program);

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

/// Who uses the memory of a bench first.
enum class BenchStart {
  kGpu,  ///< its streams, behind Workbench::done
  kCpu,  ///< the CPU, which must not wait for earlier copies where it need not
};

/// Bytes of one bench.
struct BenchLimits {
  std::int64_t large = 64 << 20;  ///< above it is large
  std::int64_t kept = 512 << 20;  ///< above it is not kept for another operation
};

/// The benches of a process. Any thread.
class Workbenches {
 public:
  explicit Workbenches(SharedPool& pool, const BenchLimits& limits = {}) : pool_(pool), limits_(limits) {}

  /// A bench for one thread, until the end of its life; then it is kept, with the copies that it still makes. Of large
  /// ones without copies, the last is. None is freed while it copies.
  class Lease {
   public:
    /// With `bytes` bytes of memory or more. For the CPU, one without copies under way if it is not large, and few of
    /// them have any. Errors: those of a bench.
    Lease(Workbenches& owner, const DevicePlace& place, std::int64_t bytes, BenchStart start = BenchStart::kGpu)
        : owner_(owner), bench_(owner.Take(place, bytes, start)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { owner_.Keep(std::move(bench_)); }
    Workbench& operator*() { return *bench_; }
    Workbench* operator->() { return bench_.get(); }
    /// Whether another operation may get it. If not, it is freed at the end of this life, or after a later one where it
    /// copies then.
    bool is_kept() const { return bench_->bytes <= owner_.limits_.kept; }

   private:
    Workbenches& owner_;
    std::unique_ptr<Workbench> bench_;
  };

 private:
  /// An operation may need two at once, for what it sends and for what it receives.
  static constexpr int kMostOfADevice = 4;
  static constexpr std::int64_t kMostAtWork = 4;  ///< with copies under way, before the CPU waits for them
  std::unique_ptr<Workbench> Take(const DevicePlace& place, std::int64_t bytes, BenchStart start);
  std::unique_ptr<Workbench> TakeKept(const DevicePlace& place, std::int64_t bytes, BenchStart start);
  void Keep(std::unique_ptr<Workbench> bench);
  bool IsOfUse(const Workbench& bench, const Workbench& latest) const;
  bool IsLarge(std::int64_t bytes) const { return bytes > limits_.large; }

  SharedPool& pool_;
  BenchLimits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workbench>> free_;  ///< smaller ones first
};

}  // namespace slipway::runtime
