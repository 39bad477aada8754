#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "tests/runtime/device/fake_driver/driver_types.h"
#include "tests/runtime/device/fake_driver/ledger.h"

namespace slipway::fake_gpu {

using Address = std::uintptr_t;

/// Bytes [begin, end).
struct Range {
  Address begin = 0;
  Address end = 0;

  static Range Of(Address begin, std::size_t bytes) { return {begin, begin + bytes}; }
  std::size_t bytes() const { return end - begin; }
  bool Holds(Range other) const { return other.begin >= begin && other.end <= end && other.begin <= other.end; }
  bool Meets(Range other) const { return begin < other.end && other.begin < end; }
};

/// One memory of a device: a memfd, mapped at the program's address and at the shadow's.
class Allocation {
 public:
  enum class Origin { kAllocated, kPooled, kManaged, kImported };

  /// Errors: Refusal kOutOfMemory.
  static Allocation Create(Origin origin, std::size_t bytes, Address reserved);
  /// Errors: Refusal kInvalidHandle: the exporting process or its memory is gone.
  static Allocation Import(const IpcHandle& handle);
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&&) = delete;
  ~Allocation();

  IpcHandle Export() const;
  /// Whether another process has imported it.
  bool IsMappedElsewhere() const;
  Range range() const { return Range::Of(address_, bytes_); }
  char* shadow(Address at) const { return shadow_ + (at - address_); }
  Origin origin() const { return origin_; }

  Device device = 0;
  ContextHandle context = nullptr;
  std::uint64_t id = 0;
  unsigned opened = 1;  // times that an imported memory was opened
  IpcHandle source{};   // of an imported memory

 private:
  Allocation() = default;
  void Map(Address reserved);

  Origin origin_ = Origin::kAllocated;
  UniqueFd file_;
  Address address_ = 0;
  char* shadow_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Host memory whose pages are pinned: made by the driver, or registered.
struct PinnedRange {
  Range range;
  bool made_here = false;
  Device device = 0;
  ContextHandle context = nullptr;
  std::uint64_t id = 0;
};

/// All memory that the driver knows. The driver's lock guards it.
class Memory {
 public:
  explicit Memory(Ledger& ledger) : ledger_(ledger) {}

  void SetDevices(int count, std::size_t bytes_each);
  int devices() const { return static_cast<int>(total_.size()); }
  std::size_t total(Device device) const { return total_[device]; }
  std::size_t free(Device device) const;

  /// A freed address of the same size is used again, as the driver does. Errors: Refusal kOutOfMemory.
  Allocation& Allocate(Allocation::Origin origin, Device device, ContextHandle context, std::size_t bytes);
  Allocation& Open(const IpcHandle& handle, Device device, ContextHandle context);
  /// The allocation that holds the address, or null.
  Allocation* Find(Address address);
  /// The allocation that starts there and has one of these origins. Errors: a violation and Refusal kInvalidValue.
  Allocation& Starting(Address address, bool imported);
  void Forget(const Allocation& allocation);
  /// The shadow of a range. Errors: a violation and Refusal kInvalidValue where it is in no allocation.
  char* Shadow(Range range);

  enum class Pinning { kPinned, kPageable };
  /// Errors: a violation and Refusal kInvalidValue where a part is pinned and a part is not.
  Pinning PinningOf(Range range);
  const PinnedRange* FindPinned(Address address) const;
  /// Errors: Refusal kOutOfMemory.
  PinnedRange& AllocateHost(std::size_t bytes);
  /// Errors: Refusal kHostMemoryAlreadyRegistered, or kInvalidValue where pages are not mapped.
  PinnedRange& Register(Range range);
  /// The pinned range that starts there. Errors: a violation and Refusal.
  const PinnedRange& StartingPinned(Address address, bool made_here);
  void ForgetPinned(Address address);

  /// Frees all that this context made.
  void ForgetAllOf(ContextHandle context);
  void Clear();

 private:
  Ledger& ledger_;
  std::vector<std::size_t> total_;
  std::map<Address, Allocation> allocations_;
  std::map<Address, PinnedRange> pinned_;
  std::map<std::size_t, std::vector<Address>> freed_;  // reserved addresses, by size; the last one is used again
  std::uint64_t ids_ = 0;
};

}  // namespace slipway::fake_gpu
