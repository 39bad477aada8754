// Compares the declarations of CUDA's driver in runtime/device with the real header's. A test compiles it where the
// machine has that header. Its macros give functions and members of Driver the same names, such as cuMemAlloc_v2.

#include <cuda.h>

#include "runtime/device/device_memory.cpp"
#include "runtime/device/driver.h"
#include "runtime/device/stream.cpp"
#include "tests/runtime/device/same_abi.h"

namespace slipway::runtime {
namespace {

using test::kIsPointerTo;

#define SLIPWAY_CHECK(scope, name) static_assert(kIsPointerTo<decltype(scope::name), decltype(::name)>, #name)

SLIPWAY_CHECK(Driver, cuDeviceGetCount);
SLIPWAY_CHECK(Driver, cuPointerGetAttribute);
SLIPWAY_CHECK(Driver, cuMemHostRegister);
SLIPWAY_CHECK(Driver, cuMemHostUnregister);
SLIPWAY_CHECK(Driver, cuStreamCreate);
SLIPWAY_CHECK(Driver, cuStreamDestroy);
SLIPWAY_CHECK(Driver, cuStreamSynchronize);
SLIPWAY_CHECK(Driver, cuStreamWaitEvent);
SLIPWAY_CHECK(Driver, cuEventCreate);
SLIPWAY_CHECK(Driver, cuEventDestroy);
SLIPWAY_CHECK(Driver, cuEventRecord);
SLIPWAY_CHECK(Driver, cuEventQuery);
SLIPWAY_CHECK(Driver, cuMemcpyDtoHAsync);
SLIPWAY_CHECK(Driver, cuMemcpyHtoDAsync);
SLIPWAY_CHECK(Driver, cuStreamIsCapturing);
SLIPWAY_CHECK(Driver, cuThreadExchangeStreamCaptureMode);
SLIPWAY_CHECK(Driver::Cuda, cuGetErrorName);
SLIPWAY_CHECK(Driver::Cuda, cuCtxPushCurrent);
SLIPWAY_CHECK(Driver::Cuda, cuCtxPopCurrent);
SLIPWAY_CHECK(Driver::Memory, cuMemAlloc);
SLIPWAY_CHECK(Driver::Memory, cuMemFree);
SLIPWAY_CHECK(Driver::Memory, cuMemcpyDtoDAsync);
SLIPWAY_CHECK(Driver::Memory, cuDeviceGetPCIBusId);
SLIPWAY_CHECK(Driver::Memory, cuMemsetD8Async);
SLIPWAY_CHECK(Driver::Memory, cuCtxSynchronize);
SLIPWAY_CHECK(Driver::Memory, cuDevicePrimaryCtxRetain);
SLIPWAY_CHECK(Driver::Direct, cuIpcGetMemHandle);
SLIPWAY_CHECK(Driver::Direct, cuIpcOpenMemHandle);
SLIPWAY_CHECK(Driver::Direct, cuIpcCloseMemHandle);
SLIPWAY_CHECK(Driver::Direct, cuModuleLoadData);
SLIPWAY_CHECK(Driver::Direct, cuModuleUnload);
SLIPWAY_CHECK(Driver::Direct, cuModuleGetFunction);
SLIPWAY_CHECK(Driver::Direct, cuLaunchKernel);
SLIPWAY_CHECK(Driver::SharedEvents, cuDeviceGetAttribute);
SLIPWAY_CHECK(Driver::SharedEvents, cuIpcGetEventHandle);
SLIPWAY_CHECK(Driver::SharedEvents, cuIpcOpenEventHandle);

static_assert(kContext == CU_POINTER_ATTRIBUTE_CONTEXT && kMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(kIsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED && Driver::kDeviceMemory == CU_MEMORYTYPE_DEVICE);
static_assert(kDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kRangeStart == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(kEventWithoutTimes == CU_EVENT_DISABLE_TIMING && kEventForNode == CU_EVENT_INTERPROCESS);
static_assert(kStreamByItself == CU_STREAM_NON_BLOCKING);
static_assert(kPinnedForAllContexts == CU_MEMHOSTREGISTER_PORTABLE && kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kCapturedForOthers == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(kOwnCapturesOnly == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(kNotInitialized == CUDA_ERROR_NOT_INITIALIZED && kInvalidDevice == CUDA_ERROR_INVALID_DEVICE);

}  // namespace
}  // namespace slipway::runtime
