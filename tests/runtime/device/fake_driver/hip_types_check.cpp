// Compares the fake HIP's declarations with the real header's. A test compiles it where the machine has that header.

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__  // templates with the names of functions
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "tests/runtime/device/fake_driver/hip_types.h"
#include "tests/runtime/device/same_abi.h"

namespace slipway::fake_gpu {
namespace {

using test::SameAbi;

#if HIP_VERSION_MAJOR < 6
hipError_t hipGetDevicePropertiesR0600(void* properties, int device);  // came with ROCm 6
#endif

#define SLIPWAY_CHECK_CODE(name, ...) static_assert(SameAbi<Code(__VA_ARGS__), decltype(name)>::value, #name);
SLIPWAY_FAKE_HIP_ENTRIES(SLIPWAY_CHECK_CODE)
#define SLIPWAY_CHECK_TEXT(name, ...) static_assert(SameAbi<const char*(__VA_ARGS__), decltype(name)>::value, #name);
SLIPWAY_FAKE_HIP_TEXTS(SLIPWAY_CHECK_TEXT)

static_assert(sizeof(IpcHandle) == sizeof(hipIpcMemHandle_t) && sizeof(IpcHandle) == sizeof(hipIpcEventHandle_t));

static_assert(int{kSuccess} == hipSuccess && int{kInvalidValue} == hipErrorInvalidValue);
static_assert(int{kOutOfMemory} == hipErrorOutOfMemory && int{kNotInitialized} == hipErrorNotInitialized);
static_assert(int{kNoDevice} == hipErrorNoDevice && int{kInvalidDevice} == hipErrorInvalidDevice);
static_assert(int{kInvalidContext} == hipErrorInvalidContext && int{kMapFailed} == hipErrorMapFailed);
static_assert(int{kInvalidHandle} == hipErrorInvalidHandle && int{kNotFound} == hipErrorNotFound);
static_assert(int{kNotReady} == hipErrorNotReady && int{kIllegalAddress} == hipErrorIllegalAddress);
static_assert(int{kPeerAccessAlreadyEnabled} == hipErrorPeerAccessAlreadyEnabled);
static_assert(int{kContextIsDestroyed} == hipErrorContextIsDestroyed);
static_assert(int{kHostMemoryAlreadyRegistered} == hipErrorHostMemoryAlreadyRegistered);
static_assert(int{kHostMemoryNotRegistered} == hipErrorHostMemoryNotRegistered);
static_assert(int{kLaunchFailed} == hipErrorLaunchFailure && int{kNotSupported} == hipErrorNotSupported);
static_assert(int{kStreamCaptureUnsupported} == hipErrorStreamCaptureUnsupported);
static_assert(int{kStreamCaptureImplicit} == hipErrorStreamCaptureImplicit && int{kUnknown} == hipErrorUnknown);

static_assert(int{kAttributeContext} == HIP_POINTER_ATTRIBUTE_CONTEXT);
static_assert(int{kAttributeMemoryType} == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(int{kAttributeBufferId} == HIP_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(int{kAttributeIsManaged} == HIP_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(int{kAttributeDeviceOrdinal} == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(int{kAttributeRangeStart} == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(int{kAttributeRangeSize} == HIP_POINTER_ATTRIBUTE_RANGE_SIZE);

static_assert(unsigned{kStreamNonBlocking} == hipStreamNonBlocking);
static_assert(unsigned{kEventBlockingSync} == hipEventBlockingSync);
static_assert(unsigned{kEventDisableTiming} == hipEventDisableTiming);
static_assert(unsigned{kEventInterprocess} == hipEventInterprocess);
static_assert(int{kCaptureModeGlobal} == hipStreamCaptureModeGlobal);
static_assert(int{kCaptureModeThreadLocal} == hipStreamCaptureModeThreadLocal);
static_assert(int{kCaptureModeRelaxed} == hipStreamCaptureModeRelaxed);

static_assert(sizeof(HipPointerAttributes) == sizeof(hipPointerAttribute_t));
static_assert(offsetof(HipPointerAttributes, device) == offsetof(hipPointerAttribute_t, device));
static_assert(offsetof(HipPointerAttributes, device_pointer) == offsetof(hipPointerAttribute_t, devicePointer));
static_assert(offsetof(HipPointerAttributes, host_pointer) == offsetof(hipPointerAttribute_t, hostPointer));
static_assert(offsetof(HipPointerAttributes, is_managed) == offsetof(hipPointerAttribute_t, isManaged));
static_assert(offsetof(HipPointerAttributes, allocation_flags) == offsetof(hipPointerAttribute_t, allocationFlags));

#if HIP_VERSION_MAJOR >= 6
static_assert(offsetof(HipPointerAttributes, type) == offsetof(hipPointerAttribute_t, type));
static_assert(int{kHipUnregisteredMemory} == hipMemoryTypeUnregistered);
static_assert(int{kHipHostMemory} == hipMemoryTypeHost && int{kHipDeviceMemory} == hipMemoryTypeDevice);
static_assert(int{kHipManagedMemory} == hipMemoryTypeManaged);
#else
// One less than CUDA's, as hipPointerGetAttribute of the fake library for ROCm 5 answers.
static_assert(int{kHostMemory} - 1 == hipMemoryTypeHost && int{kDeviceMemory} - 1 == hipMemoryTypeDevice);
#endif

// Streams that are numbers, whose constants are casts to a pointer.
#define hipStream_t std::uintptr_t
static_assert(hipStreamPerThread == kPerThreadStream);
#ifdef hipStreamLegacy
static_assert(hipStreamLegacy == kLegacyStream);
#endif

}  // namespace
}  // namespace slipway::fake_gpu
