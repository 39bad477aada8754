// Compares the launcher's declarations of NVML with the real header's. A test compiles it where the machine has that
// header.

#include <nvml.h>

#include <cstddef>

#include "launcher/ranks/local/nvml_entries.h"
#include "tests/runtime/device/same_abi.h"

namespace slipway::test {

/// A struct of one pointer in newer headers, a pointer in older ones: the same register.
template <>
constexpr bool PassedAlike<void*, nvmlDevice_t>() {
  return sizeof(nvmlDevice_t) == sizeof(void*);
}

}  // namespace slipway::test

namespace slipway::launcher::nvml {
namespace {

#define SLIPWAY_CHECK(name) static_assert(test::kIsPointerTo<decltype(Entries::name), decltype(::name)>, #name)

SLIPWAY_CHECK(nvmlInit_v2);
SLIPWAY_CHECK(nvmlShutdown);
SLIPWAY_CHECK(nvmlErrorString);
SLIPWAY_CHECK(nvmlDeviceGetCount_v2);
SLIPWAY_CHECK(nvmlDeviceGetHandleByIndex_v2);
SLIPWAY_CHECK(nvmlDeviceGetUUID);
SLIPWAY_CHECK(nvmlDeviceGetName);
SLIPWAY_CHECK(nvmlDeviceGetTotalEnergyConsumption);
SLIPWAY_CHECK(nvmlDeviceGetPowerUsage);
SLIPWAY_CHECK(nvmlDeviceGetMigMode);
SLIPWAY_CHECK(nvmlDeviceGetMemoryInfo);
SLIPWAY_CHECK(nvmlDeviceGetUtilizationRates);
SLIPWAY_CHECK(nvmlDeviceGetComputeRunningProcesses_v3);

static_assert(kSuccess == NVML_SUCCESS && kInsufficientSize == NVML_ERROR_INSUFFICIENT_SIZE);
static_assert(kTextBytes >= NVML_DEVICE_UUID_V2_BUFFER_SIZE && kTextBytes >= NVML_DEVICE_NAME_V2_BUFFER_SIZE);
static_assert(sizeof(MemoryBytes) == sizeof(nvmlMemory_t) && sizeof(UsePercent) == sizeof(nvmlUtilization_t));
// Headers of early drivers 535 have a longer one.
static_assert(sizeof(ProcessInfo) <= sizeof(nvmlProcessInfo_t) && sizeof(nvmlProcessInfo_t) <= 2 * sizeof(ProcessInfo));
static_assert(offsetof(ProcessInfo, pid) == offsetof(nvmlProcessInfo_t, pid));
static_assert(offsetof(ProcessInfo, gpu_instance) == offsetof(nvmlProcessInfo_t, gpuInstanceId));
static_assert(offsetof(MemoryBytes, total) == offsetof(nvmlMemory_t, total));
static_assert(offsetof(MemoryBytes, free) == offsetof(nvmlMemory_t, free));
static_assert(offsetof(MemoryBytes, used) == offsetof(nvmlMemory_t, used));
static_assert(offsetof(UsePercent, gpu) == offsetof(nvmlUtilization_t, gpu));
static_assert(offsetof(UsePercent, memory) == offsetof(nvmlUtilization_t, memory));

}  // namespace
}  // namespace slipway::launcher::nvml
