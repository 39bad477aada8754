/// A piece of memory that several processes of a machine map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/memory_left.h"
#include "core/unique_handle.h"

namespace slipway::runtime {

/// Where a process finds the memory of another one.
struct SharedMemoryAddress {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;  ///< with inode: that the descriptor is still the same memory
  std::uint64_t inode = 0;
};

class SharedMemory {
 public:
  SharedMemory() = default;
  /// New memory, zeroed. The kernel reserves every page now, so a lack of memory cannot fail a later write.
  /// `allowance`: asked before each step; null: for some pages only.
  /// Errors: std::system_error, ENOMEM where the machine or a control group can spare no more; then nothing is taken.
  /// Source: memfd_create(2), fallocate(2). It has no name in a file system, so a killed process leaves nothing behind
  /// and no limit of /dev/shm applies.
  static SharedMemory Create(std::size_t bytes, MemoryAllowance* allowance = nullptr);
  /// The same memory in another process. Errors: std::system_error.
  static SharedMemory Open(const SharedMemoryAddress& address);

  /// What this process has mapped at `data` from the start of `descriptor`, and unmaps itself, later than this ends.
  /// Errors: std::system_error; EINVAL where `descriptor` is shorter, or holds something else than `data` shows.
  static SharedMemory Borrow(char* data, std::size_t bytes, int descriptor);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  char* data() const { return data_; }
  bool borrowed() const { return borrowed_; }
  std::size_t size() const { return size_; }
  /// Of the process that made it; -1 in others.
  int descriptor() const { return descriptor_.get(); }
  /// For Open() in other processes, as long as this one lives.
  SharedMemoryAddress address() const;

 private:
  void Promise(MemoryAllowance* allowance) const;
  void Map();

  UniqueFd descriptor_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  bool borrowed_ = false;
};

}  // namespace slipway::runtime
