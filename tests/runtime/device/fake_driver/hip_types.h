#pragma once

/// Types and the lists of entries of the fake HIP, as ROCm 6 has them: own declarations, compatible with HIP's ABI.
/// Codes, flags and attributes are those of driver_types.h: HIP has CUDA's numbers.

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

/// The same for each entry that answers a text.
#define SLIPWAY_FAKE_HIP_TEXTS(X) \
  X(hipGetErrorName, Code code)   \
  X(hipGetErrorString, Code code)

}  // namespace slipway::fake_gpu
