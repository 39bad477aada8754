// Compares the declarations of AMD's HIP in runtime/device with the real header's. A test compiles it where the machine
// has that header. DriverEntries holds its list of functions against the names that driver.cpp looks for.

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__  // templates with the names of functions
#include <hip/hip_runtime_api.h>

#include "runtime/device/device_memory.cpp"
#include "runtime/device/driver.cpp"
#include "runtime/device/driver.h"
#include "runtime/device/stream.cpp"
#include "tests/runtime/device/same_abi.h"

namespace slipway::runtime {
namespace {

using test::Addresses;
using test::kIsPointerTo;

#define SLIPWAY_CHECK(scope, member, name) \
  static_assert(kIsPointerTo<decltype(scope::member), decltype(::name), Addresses::kPointersOrNumbers>, #name)

SLIPWAY_CHECK(Driver, cuDeviceGetCount, hipGetDeviceCount);
SLIPWAY_CHECK(Driver, cuPointerGetAttribute, hipPointerGetAttribute);
SLIPWAY_CHECK(Driver, cuMemHostRegister, hipHostRegister);
SLIPWAY_CHECK(Driver, cuMemHostUnregister, hipHostUnregister);
SLIPWAY_CHECK(Driver, cuStreamCreate, hipStreamCreateWithFlags);
SLIPWAY_CHECK(Driver, cuStreamDestroy, hipStreamDestroy);
SLIPWAY_CHECK(Driver, cuStreamSynchronize, hipStreamSynchronize);
SLIPWAY_CHECK(Driver, cuStreamWaitEvent, hipStreamWaitEvent);
SLIPWAY_CHECK(Driver, cuEventCreate, hipEventCreateWithFlags);
SLIPWAY_CHECK(Driver, cuEventDestroy, hipEventDestroy);
SLIPWAY_CHECK(Driver, cuEventRecord, hipEventRecord);
SLIPWAY_CHECK(Driver, cuEventQuery, hipEventQuery);
SLIPWAY_CHECK(Driver, cuMemcpyDtoHAsync, hipMemcpyDtoHAsync);
SLIPWAY_CHECK(Driver, cuMemcpyHtoDAsync, hipMemcpyHtoDAsync);
SLIPWAY_CHECK(Driver, cuStreamIsCapturing, hipStreamIsCapturing);
SLIPWAY_CHECK(Driver, cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode);
SLIPWAY_CHECK(Driver::Hip, hipGetErrorName, hipGetErrorName);
SLIPWAY_CHECK(Driver::Hip, hipGetDevice, hipGetDevice);
SLIPWAY_CHECK(Driver::Hip, hipSetDevice, hipSetDevice);
SLIPWAY_CHECK(Driver::Hip, hipPeekAtLastError, hipPeekAtLastError);
SLIPWAY_CHECK(Driver::Hip, hipGetLastError, hipGetLastError);
SLIPWAY_CHECK(Driver::Memory, cuMemAlloc, hipMalloc);
SLIPWAY_CHECK(Driver::Memory, cuMemFree, hipFree);
SLIPWAY_CHECK(Driver::Memory, cuMemcpyDtoDAsync, hipMemcpyDtoDAsync);
SLIPWAY_CHECK(Driver::Memory, cuDeviceGetPCIBusId, hipDeviceGetPCIBusId);
SLIPWAY_CHECK(Driver::Memory, cuMemsetD8Async, hipMemsetD8Async);
SLIPWAY_CHECK(Driver::Memory, cuCtxSynchronize, hipDeviceSynchronize);

// An answer is written where its type has room for it.
static_assert(sizeof(DeviceAddress) == sizeof(hipDeviceptr_t) && sizeof(StreamHandle) == sizeof(hipStream_t));
static_assert(sizeof(int) == sizeof(hipStreamCaptureStatus) && sizeof(int) == sizeof(hipStreamCaptureMode));
static_assert(sizeof(unsigned) == sizeof(hipMemoryType) && sizeof(int) == sizeof(hipError_t));

static_assert(kMemoryType == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE && kIsManaged == HIP_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(kDeviceOrdinal == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kRangeStart == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
#if HIP_VERSION_MAJOR >= 6
static_assert(Driver::kDeviceMemory == hipMemoryTypeDevice);
#else
static_assert(Driver::kDeviceMemoryBeforeRocm6 == hipMemoryTypeDevice);
#endif
static_assert(kEventWithoutTimes == hipEventDisableTiming && kStreamByItself == hipStreamNonBlocking);
static_assert(kPinnedForAllContexts == hipHostRegisterPortable);
static_assert(kOwnCapturesOnly == hipStreamCaptureModeThreadLocal);
static_assert(kSuccess == hipSuccess && kOutOfMemory == hipErrorOutOfMemory && kNotReady == hipErrorNotReady);
static_assert(kCapturedForOthers == hipErrorStreamCaptureImplicit);
static_assert(kNotInitialized == hipErrorNotInitialized && kInvalidDevice == hipErrorInvalidDevice);

// The constant is a cast to a pointer.
#define hipStream_t std::uintptr_t
static_assert(hipStreamPerThread == kStreamOfThread);

}  // namespace
}  // namespace slipway::runtime
