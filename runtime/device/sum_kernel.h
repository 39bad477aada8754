/// Sums over several ranks, computed by the GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/stream.h"

namespace slipway::runtime {

/// A part of a message: `count` elements, at one address for each rank.
struct SumPart {
  std::int64_t count = 0;
  std::vector<char*> at;  ///< by rank, as this process reaches them
};

/// Parts on the device, ready to be combined again and again.
class SumTable {
 public:
  /// All parts have as many ranks. Waits for the copy. Errors: DeviceError.
  SumTable(const DevicePlace& place, std::span<const SumPart> parts, DeviceStream& stream);
  /// The same, in the same memory, which no kernel reads any more. As many parts and ranks.
  void Write(std::span<const SumPart> parts, DeviceStream& stream);

 private:
  friend class SumKernel;
  DevicePlace place_;
  int ranks_ = 0;
  unsigned parts_ = 0;
  std::int64_t largest_ = 0;  ///< elements
  DeviceBlock memory_;
};

/// Tables that are made once and used again. Their memory is, too: to free some, the driver would wait for the whole
/// device, which may wait for other ranks. One thread at a time.
class SumTables {
 public:
  /// `stream`: for the copy of a new table; it outlives this.
  SumTables(const DevicePlace& place, DeviceStream& stream) : place_(place), stream_(stream) {}

  /// Of a single part, of as many ranks in each call. It is valid until the next call. `await_kernels`: returns when
  /// those of earlier tables have ended; called once for kMost new tables. Errors: DeviceError, and its own.
  const SumTable& Of(const SumPart& part, const std::function<void()>& await_kernels);

 private:
  static constexpr std::size_t kMost = 64;
  using Tables = std::map<std::pair<std::int64_t, std::vector<char*>>, SumTable>;

  DevicePlace place_;
  DeviceStream& stream_;
  Tables known_;
  Tables spare_;  ///< whose memory is used again
};

/// The program for the GPU, once for a context. Any thread.
///
/// Result: elements are added in the order of the ranks, 16-bit floats in float32 and rounded once, times `factor`:
///         the bits of CombineAll(), but for the payload of a NaN.
class SumKernel {
 public:
  /// Null when this GPU or its driver cannot have it, or has no memory for it now. Once it is there, it stays.
  static const SumKernel* Of(const DevicePlace& place);
  /// Whether it knows the dtype: floats.
  static bool Knows(slipway_dtype dtype);

  /// Writes the sums to all ranks' addresses, as work of `stream`. `ranks`: whose mean it is; 1: the sum.
  /// Errors: DeviceError.
  void Launch(const SumTable& table, slipway_dtype dtype, int ranks, const DeviceStream& stream) const;

 private:
  explicit SumKernel(const DevicePlace& place);

  DevicePlace place_;
  void* module_ = nullptr;
  void* functions_[4] = {};  ///< as kDtypes
};

}  // namespace slipway::runtime
