/// What nvml.cpp declares of nvml.h of CUDA 12. A test compares it with the real header where there is one.
#pragma once

namespace slipway::launcher::nvml {

/// nvmlReturn_t.
inline constexpr int kSuccess = 0;
inline constexpr int kInsufficientSize = 7;
/// NVML_DEVICE_UUID_V2_BUFFER_SIZE and NVML_DEVICE_NAME_V2_BUFFER_SIZE.
inline constexpr unsigned kTextBytes = 96;

/// nvmlDevice_t: a pointer in a struct, which is passed as a pointer is.
using Device = void*;

/// nvmlMemory_t. `used` includes what the driver keeps for itself.
struct MemoryBytes {
  unsigned long long total, free, used;
};

/// nvmlUtilization_t.
struct UsePercent {
  unsigned gpu, memory;
};

/// nvmlProcessInfo_t, version 2: what nvmlDeviceGetComputeRunningProcesses_v3 fills.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

/// Optional ones are null in older libraries.
struct Entries {
  int (*nvmlInit_v2)() = nullptr;
  int (*nvmlShutdown)() = nullptr;
  const char* (*nvmlErrorString)(int) = nullptr;
  int (*nvmlDeviceGetCount_v2)(unsigned*) = nullptr;
  int (*nvmlDeviceGetHandleByIndex_v2)(unsigned, Device*) = nullptr;
  int (*nvmlDeviceGetUUID)(Device, char*, unsigned) = nullptr;
  int (*nvmlDeviceGetName)(Device, char*, unsigned) = nullptr;
  int (*nvmlDeviceGetTotalEnergyConsumption)(Device, unsigned long long*) = nullptr;   ///< optional
  int (*nvmlDeviceGetPowerUsage)(Device, unsigned*) = nullptr;                         ///< optional
  int (*nvmlDeviceGetMigMode)(Device, unsigned*, unsigned*) = nullptr;                 ///< optional
  int (*nvmlDeviceGetMemoryInfo)(Device, MemoryBytes*) = nullptr;                      ///< optional
  int (*nvmlDeviceGetUtilizationRates)(Device, UsePercent*) = nullptr;                 ///< optional
  int (*nvmlDeviceGetComputeRunningProcesses_v3)(Device, unsigned*, void*) = nullptr;  ///< optional

  bool complete() const {
    return nvmlInit_v2 && nvmlShutdown && nvmlErrorString && nvmlDeviceGetCount_v2 && nvmlDeviceGetHandleByIndex_v2 &&
           nvmlDeviceGetUUID && nvmlDeviceGetName;
  }
};

}  // namespace slipway::launcher::nvml
