#pragma once

/// The same device under the names of AMD's HIP, as ROCm 6 has them: own declarations. The library is libamdhip64.so.
/// tests/fake_old_hip has one of ROCm 5, which says other numbers for the types of memory.
///
/// HIP has no contexts in the hands of the program: each thread has a current device, at first 0, and the library makes
/// its context. Error codes are CUDA's, with CUDA's names. As in ROCm 7, each thread keeps the last error until
/// hipGetLastError takes it. The controls of fake_gpu.h know each entry by the CUDA entry that it stands for.

#include "tests/runtime/device/fake_driver/driver_types.h"

namespace slipway::fake_gpu {

enum HipMemoryType : int {
  kHipUnregisteredMemory = 0,
  kHipHostMemory = 1,
  kHipDeviceMemory = 2,
  kHipManagedMemory = 3
};
inline constexpr Device kHipNoDevice = -2;

struct HipPointerAttributes {
  HipMemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};

/// X(name, parameters...) for each entry that answers a code.
#define SLIPWAY_FAKE_HIP_ENTRIES(X)                                                                    \
  X(hipInit, unsigned flags)                                                                           \
  X(hipDriverGetVersion, int* version)                                                                 \
  X(hipGetDeviceCount, int* count)                                                                     \
  X(hipGetDevice, int* device)                                                                         \
  X(hipSetDevice, int device)                                                                          \
  X(hipGetDevicePropertiesR0600, void* properties, int device)                                         \
  X(hipPeekAtLastError)                                                                                \
  X(hipGetLastError)                                                                                   \
  X(hipDeviceGetName, char* name, int size, Device device)                                             \
  X(hipDeviceGetPCIBusId, char* text, int size, Device device)                                         \
  X(hipDeviceSynchronize)                                                                              \
  X(hipMalloc, void** pointer, std::size_t bytes)                                                      \
  X(hipFree, void* pointer)                                                                            \
  X(hipMemGetInfo, std::size_t* free_bytes, std::size_t* total_bytes)                                  \
  X(hipMemGetAddressRange, void** base, std::size_t* bytes, void* pointer)                             \
  X(hipHostMalloc, void** pointer, std::size_t bytes, unsigned flags)                                  \
  X(hipHostFree, void* pointer)                                                                        \
  X(hipHostRegister, void* pointer, std::size_t bytes, unsigned flags)                                 \
  X(hipHostUnregister, void* pointer)                                                                  \
  X(hipPointerGetAttributes, HipPointerAttributes* attributes, const void* pointer)                    \
  X(hipPointerGetAttribute, void* answer, int attribute, void* pointer)                                \
  X(hipMemcpyDtoH, void* to, void* from, std::size_t bytes)                                            \
  X(hipMemcpyHtoD, void* to, const void* from, std::size_t bytes)                                      \
  X(hipMemcpyDtoHAsync, void* to, void* from, std::size_t bytes, StreamHandle stream)                  \
  X(hipMemcpyHtoDAsync, void* to, const void* from, std::size_t bytes, StreamHandle stream)            \
  X(hipMemcpyDtoDAsync, void* to, void* from, std::size_t bytes, StreamHandle stream)                  \
  X(hipMemcpyAsync, void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream)      \
  X(hipMemsetD8Async, void* to, unsigned char value, std::size_t count, StreamHandle stream)           \
  X(hipMemsetD32Async, void* to, int value, std::size_t count, StreamHandle stream)                    \
  X(hipStreamCreate, StreamHandle* stream)                                                             \
  X(hipStreamCreateWithFlags, StreamHandle* stream, unsigned flags)                                    \
  X(hipStreamCreateWithPriority, StreamHandle* stream, unsigned flags, int priority)                   \
  X(hipStreamDestroy, StreamHandle stream)                                                             \
  X(hipStreamQuery, StreamHandle stream)                                                               \
  X(hipStreamSynchronize, StreamHandle stream)                                                         \
  X(hipStreamWaitEvent, StreamHandle stream, EventHandle event, unsigned flags)                        \
  X(hipStreamIsCapturing, StreamHandle stream, int* status)                                            \
  X(hipThreadExchangeStreamCaptureMode, int* mode)                                                     \
  X(hipLaunchHostFunc, StreamHandle stream, HostFunction function, void* argument)                     \
  X(hipEventCreate, EventHandle* event)                                                                \
  X(hipEventCreateWithFlags, EventHandle* event, unsigned flags)                                       \
  X(hipEventRecord, EventHandle event, StreamHandle stream)                                            \
  X(hipEventQuery, EventHandle event)                                                                  \
  X(hipEventSynchronize, EventHandle event)                                                            \
  X(hipEventDestroy, EventHandle event)                                                                \
  X(hipEventElapsedTime, float* milliseconds, EventHandle start, EventHandle end)                      \
  X(hipIpcGetMemHandle, IpcHandle* handle, void* pointer)                                              \
  X(hipIpcOpenMemHandle, void** pointer, IpcHandle handle, unsigned flags)                             \
  X(hipIpcCloseMemHandle, void* pointer)                                                               \
  X(hipModuleLoadData, ModuleHandle* module, const void* image)                                        \
  X(hipModuleUnload, ModuleHandle module)                                                              \
  X(hipModuleGetFunction, FunctionHandle* function, ModuleHandle module, const char* name)             \
  X(hipModuleLaunchKernel, FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,  \
    void** parameters, void** extra)

extern "C" {
#define SLIPWAY_DECLARE_ENTRY(name, ...) __attribute__((visibility("default"))) Code name(__VA_ARGS__);
SLIPWAY_FAKE_HIP_ENTRIES(SLIPWAY_DECLARE_ENTRY)
#undef SLIPWAY_DECLARE_ENTRY
__attribute__((visibility("default"))) const char* hipGetErrorName(Code code);
__attribute__((visibility("default"))) const char* hipGetErrorString(Code code);
}

}  // namespace slipway::fake_gpu
