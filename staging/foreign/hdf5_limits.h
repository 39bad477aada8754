/// How much processor time and memory the HDF5 library may take for a file that was not checked yet.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace slipway::staging {

struct Hdf5Limits {
  std::uint64_t seconds = 60;  ///< of processor time for a step, and one more for each kBytesPerSecond
  Bytes memory{};              ///< address space of the helper

  static constexpr std::uint64_t kBytesPerSecond = 16 << 20;

  /// SLIPWAY_HDF5_SECONDS, SLIPWAY_HDF5_MEMORY ("8GB"); by default half of the machine's memory, 1 to 16 GiB.
  /// Errors: Error(kUsage) for a value that is no number.
  static Hdf5Limits FromEnvironment();
};

/// From now on this process makes no core file and gets no more memory than that. Does nothing in programs that a
/// sanitizer watches: they map terabytes.
void LimitMemory(Bytes memory);
/// From now on this process ends by SIGXCPU after so many more seconds of processor time.
void LimitProcessorTime(std::uint64_t seconds);

}  // namespace slipway::staging
