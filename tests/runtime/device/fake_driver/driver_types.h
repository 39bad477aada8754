#pragma once

/// Types, codes and the list of entries of the fake CUDA driver: own declarations, compatible with the driver's ABI.

#include <cstddef>
#include <cstdint>

namespace slipway::fake_gpu {

/// The driver's error codes, with the driver's values.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kMapFailed = 205,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kPeerAccessAlreadyEnabled = 704,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureImplicit = 906,
  kUnknown = 999,
};

using Code = int;  // a Result; the entries answer any code that a test has planned
using Device = int;
using DevicePointer = unsigned long long;
using ContextHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using HostFunction = void (*)(void*);

struct IpcHandle {
  char bytes[64];
};

struct Uuid {
  char bytes[16];
};

inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

enum StreamFlag : unsigned { kStreamNonBlocking = 1 };
enum EventFlag : unsigned { kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4 };
enum CaptureMode : int { kCaptureModeGlobal = 0, kCaptureModeThreadLocal = 1, kCaptureModeRelaxed = 2 };
enum MemoryType : unsigned { kHostMemory = 1, kDeviceMemory = 2 };
enum PointerAttribute : int {
  kAttributeContext = 1,
  kAttributeMemoryType = 2,
  kAttributeBufferId = 7,
  kAttributeIsManaged = 8,
  kAttributeDeviceOrdinal = 9,
  kAttributeRangeStart = 11,
  kAttributeRangeSize = 12,
};

}  // namespace slipway::fake_gpu

/// X(name, parameters...) for each entry, in the namespace's types.
#define SLIPWAY_FAKE_GPU_ENTRIES(X)                                                                               \
  X(cuInit, unsigned flags)                                                                                       \
  X(cuDriverGetVersion, int* version)                                                                             \
  X(cuGetErrorName, Code code, const char** name)                                                                 \
  X(cuGetErrorString, Code code, const char** text)                                                               \
  X(cuDeviceGetCount, int* count)                                                                                 \
  X(cuDeviceGet, Device* device, int ordinal)                                                                     \
  X(cuDeviceGetName, char* name, int size, Device device)                                                         \
  X(cuDeviceGetUuid, Uuid* uuid, Device device)                                                                   \
  X(cuDeviceGetPCIBusId, char* text, int size, Device device)                                                     \
  X(cuDeviceGetAttribute, int* value, int attribute, Device device)                                               \
  X(cuDeviceCanAccessPeer, int* can_access, Device device, Device peer)                                           \
  X(cuDevicePrimaryCtxRetain, ContextHandle* context, Device device)                                              \
  X(cuDevicePrimaryCtxRelease_v2, Device device)                                                                  \
  X(cuCtxGetCurrent, ContextHandle* context)                                                                      \
  X(cuCtxSetCurrent, ContextHandle context)                                                                       \
  X(cuCtxPushCurrent_v2, ContextHandle context)                                                                   \
  X(cuCtxPopCurrent_v2, ContextHandle* context)                                                                   \
  X(cuCtxGetDevice, Device* device)                                                                               \
  X(cuCtxSynchronize)                                                                                             \
  X(cuCtxEnablePeerAccess, ContextHandle peer, unsigned flags)                                                    \
  X(cuMemAlloc_v2, DevicePointer* pointer, std::size_t bytes)                                                     \
  X(cuMemAllocManaged, DevicePointer* pointer, std::size_t bytes, unsigned flags)                                 \
  X(cuMemFree_v2, DevicePointer pointer)                                                                          \
  X(cuMemGetInfo_v2, std::size_t* free_bytes, std::size_t* total_bytes)                                           \
  X(cuMemGetAddressRange_v2, DevicePointer* base, std::size_t* bytes, DevicePointer pointer)                      \
  X(cuMemAllocHost_v2, void** pointer, std::size_t bytes)                                                         \
  X(cuMemFreeHost, void* pointer)                                                                                 \
  X(cuMemHostRegister_v2, void* pointer, std::size_t bytes, unsigned flags)                                       \
  X(cuMemHostUnregister, void* pointer)                                                                           \
  X(cuPointerGetAttribute, void* answer, int attribute, DevicePointer pointer)                                    \
  X(cuMemcpyDtoH_v2, void* to, DevicePointer from, std::size_t bytes)                                             \
  X(cuMemcpyHtoD_v2, DevicePointer to, const void* from, std::size_t bytes)                                       \
  X(cuMemcpyDtoHAsync_v2, void* to, DevicePointer from, std::size_t bytes, StreamHandle stream)                   \
  X(cuMemcpyHtoDAsync_v2, DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream)             \
  X(cuMemcpyDtoDAsync_v2, DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream)           \
  X(cuMemcpyAsync, DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream)                  \
  X(cuMemcpyPeerAsync, DevicePointer to, ContextHandle target, DevicePointer from, ContextHandle source,          \
    std::size_t bytes, StreamHandle stream)                                                                       \
  X(cuMemsetD8Async, DevicePointer to, unsigned char value, std::size_t count, StreamHandle stream)               \
  X(cuMemsetD32Async, DevicePointer to, unsigned value, std::size_t count, StreamHandle stream)                   \
  X(cuStreamCreate, StreamHandle* stream, unsigned flags)                                                         \
  X(cuStreamCreateWithPriority, StreamHandle* stream, unsigned flags, int priority)                               \
  X(cuStreamDestroy_v2, StreamHandle stream)                                                                      \
  X(cuStreamQuery, StreamHandle stream)                                                                           \
  X(cuStreamSynchronize, StreamHandle stream)                                                                     \
  X(cuStreamWaitEvent, StreamHandle stream, EventHandle event, unsigned flags)                                    \
  X(cuStreamIsCapturing, StreamHandle stream, int* status)                                                        \
  X(cuThreadExchangeStreamCaptureMode, int* mode)                                                                 \
  X(cuLaunchHostFunc, StreamHandle stream, HostFunction function, void* argument)                                 \
  X(cuEventCreate, EventHandle* event, unsigned flags)                                                            \
  X(cuEventRecord, EventHandle event, StreamHandle stream)                                                        \
  X(cuEventQuery, EventHandle event)                                                                              \
  X(cuEventSynchronize, EventHandle event)                                                                        \
  X(cuEventDestroy_v2, EventHandle event)                                                                         \
  X(cuEventElapsedTime, float* milliseconds, EventHandle start, EventHandle end)                                  \
  X(cuEventElapsedTime_v2, float* milliseconds, EventHandle start, EventHandle end)                               \
  X(cuIpcGetMemHandle, IpcHandle* handle, DevicePointer pointer)                                                  \
  X(cuIpcOpenMemHandle_v2, DevicePointer* pointer, IpcHandle handle, unsigned flags)                              \
  X(cuIpcCloseMemHandle, DevicePointer pointer)                                                                   \
  X(cuIpcGetEventHandle, IpcHandle* handle, EventHandle event)                                                    \
  X(cuIpcOpenEventHandle, EventHandle* event, IpcHandle handle)                                                   \
  X(cuModuleLoadData, ModuleHandle* module, const void* image)                                                    \
  X(cuModuleUnload, ModuleHandle module)                                                                          \
  X(cuModuleGetFunction, FunctionHandle* function, ModuleHandle module, const char* name)                         \
  X(cuLaunchKernel, FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
    unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters, void** extra)
