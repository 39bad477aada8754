// Compares the fake driver's declarations with the real header's. A test compiles it where the machine has that header.

#include <cuda.h>

#include <type_traits>

#include "tests/runtime/device/fake_driver/driver_types.h"
#include "tests/runtime/device/same_abi.h"

namespace slipway::fake_gpu {
namespace {

using test::SameAbi;

// cuEventElapsedTime_v2 is in headers of CUDA 12.8 and later.
#if CUDA_VERSION >= 12080
#define SLIPWAY_CHECK_ABI(name, ...) \
  static_assert(SameAbi<Code(__VA_ARGS__), std::remove_pointer_t<decltype(&::name)>>::value, #name);
SLIPWAY_FAKE_GPU_ENTRIES(SLIPWAY_CHECK_ABI)
#endif

static_assert(int{kOutOfMemory} == CUDA_ERROR_OUT_OF_MEMORY && int{kInvalidContext} == CUDA_ERROR_INVALID_CONTEXT);
static_assert(int{kNotReady} == CUDA_ERROR_NOT_READY && int{kInvalidHandle} == CUDA_ERROR_INVALID_HANDLE);
static_assert(int{kContextIsDestroyed} == CUDA_ERROR_CONTEXT_IS_DESTROYED && int{kUnknown} == CUDA_ERROR_UNKNOWN);
static_assert(int{kHostMemoryAlreadyRegistered} == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(int{kHostMemoryNotRegistered} == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
static_assert(int{kStreamCaptureImplicit} == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(int{kStreamCaptureUnsupported} == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(int{kPeerAccessAlreadyEnabled} == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(int{kLaunchFailed} == CUDA_ERROR_LAUNCH_FAILED && int{kMapFailed} == CUDA_ERROR_MAP_FAILED);
static_assert(int{kUnsupportedPtxVersion} == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(int{kAttributeBufferId} == CU_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(int{kAttributeDeviceOrdinal} == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(int{kAttributeRangeStart} == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(int{kAttributeRangeSize} == CU_POINTER_ATTRIBUTE_RANGE_SIZE);
static_assert(int{kEventInterprocess} == CU_EVENT_INTERPROCESS && int{kStreamNonBlocking} == CU_STREAM_NON_BLOCKING);

}  // namespace
}  // namespace slipway::fake_gpu
