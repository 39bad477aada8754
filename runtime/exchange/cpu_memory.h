/// Memory that the CPU can read: everything but a GPU's own.
#pragma once

#include <string_view>

namespace slipway::runtime {

/// Errors: RuntimeError(DEVICE_MEMORY) naming `what` when `data` points to memory of a CUDA device. Managed memory is
/// taken, since the CPU reaches it.
///
/// Cost:   while the program has no CUDA driver loaded, a look at a counter of the loader; else one question to the
///         driver.
/// Limits: other makers' devices are not recognised. Tested with a stand-in for the driver, not on a device.
/// Source: CUDA Driver API, cuPointerGetAttribute.
void RequireCpuMemory(const void* data, std::string_view what);

}  // namespace slipway::runtime
