/// The memory behind slipway_alloc: blocks that the other ranks of the node can map.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/memory/shared_memory.h"

namespace slipway::runtime {

/// A place in this rank's shared blocks. Serials start at 1 and are never used again.
struct SharedLocation {
  std::int64_t serial = 0;  ///< 0: in no shared block
  std::uint64_t offset = 0;
};

/// Safe to use from several threads.
class SharedPool {
 public:
  /// `limit`: shared bytes at most; 0: ordinary memory only. From SLIPWAY_SHARED_MEMORY_LIMIT.
  explicit SharedPool(std::int64_t limit, MemorySources sources = {}, std::int64_t first_serial = 1)
      : limit_(limit), allowance_(std::move(sources)), next_serial_(first_serial) {}
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;
  ~SharedPool();

  /// Zeroed, page-aligned. Ordinary memory, with one warning on stderr, where shared memory is exhausted.
  /// Errors: MemoryError where the machine or a control group can spare no more; then nothing is taken.
  void* Allocate(std::int64_t bytes);
  /// Takes in memory that the program has mapped from the start of `descriptor`, until Free().
  /// Errors: RuntimeError: ARGUMENT for no such memory, or memory that is here already; STATE without shared memory.
  void Adopt(void* memory, std::int64_t bytes, int descriptor);
  /// Errors: RuntimeError(ARGUMENT) for what neither Allocate() gave nor Adopt() took.
  void Free(void* memory);

  bool enabled() const { return limit_ > 0; }
  /// The first byte of a block of this rank; null when there is no such block.
  char* FirstByte(std::int64_t serial) const;
  /// Where `bytes` bytes from `data` lie.
  SharedLocation Find(const void* data, std::uint64_t bytes) const;

  struct Block {
    std::int64_t serial = 0;
    SharedMemoryAddress address;
  };
  /// All blocks that live now.
  std::vector<Block> Blocks() const;

 private:
  struct Owned {
    std::int64_t serial = 0;
    SharedMemory memory;
  };
  void* AllocateOrdinary(std::int64_t bytes);
  void WarnOnce(std::int64_t bytes, const char* reason);

  mutable std::mutex mutex_;
  std::int64_t limit_;
  MemoryAllowance allowance_;
  std::int64_t used_ = 0;
  std::int64_t next_serial_;
  bool warned_ = false;
  std::map<const char*, Owned> shared_;  ///< by first byte
  std::map<void*, std::int64_t> ordinary_;
};

/// Blocks of other processes, mapped here. Safe to use from several threads.
class PeerMemory {
 public:
  /// The first byte of a block, mapped at need; null when it cannot be mapped.
  char* Map(const SharedPool::Block& block);
  /// Unmaps what `process` had before the newest block of `living`, and no longer has. A list may be older than a block
  /// that another thread has mapped by now.
  void Keep(std::int64_t process, const std::vector<SharedPool::Block>& living);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, SharedMemory> mapped_;  ///< by process and serial
};

}  // namespace slipway::runtime
