/// Where memory lies: the processor's, or a GPU's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/device/driver.h"

namespace slipway::runtime {

/// A GPU, and the context in which the program uses it: of memory that belongs to none, such as that of pools, the one
/// that programs and libraries share.
struct DevicePlace {
  const Driver* driver = nullptr;
  void* context = nullptr;  ///< null: HIP
  int ordinal = 0;          ///< among the devices that the process sees

  bool operator==(const DevicePlace&) const = default;
};

/// The device whose own memory `data` points to. Nothing for memory that the processor reaches: also managed memory,
/// and pinned memory.
///
/// Cost:   while the program has loaded no driver, a look at a counter of the loader; else some questions to the driver.
///
/// Limits: drivers of CUDA and HIP (ROCm 6 or later) are known. Tested on NVIDIA GPUs; HIP only on a fake driver.
///
/// Errors: RuntimeError(DEVICE) for a driver that is too old; DeviceError.
///
/// Source: CUDA Driver API, cuPointerGetAttribute: the context of memory of a pool is null.
std::optional<DevicePlace> PlaceOf(const void* data);

/// The device of memory that the processor reaches, too, and whose values it must not read before the device has made
/// them: managed memory. Nothing for other memory.
/// Cost, errors: those of PlaceOf(); DeviceError.
std::optional<DevicePlace> ManagedPlaceOf(const void* data);

/// This device, with the context that programs and libraries of CUDA share. The context stays for the life of the
/// process. Errors: DeviceError; RuntimeError: DEVICE for a driver that is too old, ARGUMENT where the process sees no
/// such GPU, STATE before the program has used CUDA.
DevicePlace PlaceOn(const Driver& driver, int ordinal);

/// The first byte of the allocation that `data` lies in. Nothing when the driver does not know it.
std::optional<DeviceAddress> StartOfAllocation(const Driver& driver, const void* data);

/// Whether both lie in one allocation: what a copy moves must.
bool AreOfOneAllocation(const Driver& driver, const void* one, const void* other);

/// "0000:65:00.0", which tells devices of a machine apart. Errors: DeviceError; only of a driver with Driver::memory().
std::string BusOf(const DevicePlace& place);

/// Errors: RuntimeError(DEVICE_MEMORY) naming `what` when `data` points to memory of a device.
void RequireCpuMemory(const void* data, std::string_view what);

}  // namespace slipway::runtime
