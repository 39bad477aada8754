// Compares doctor's declarations of CUDA's driver with the real header's. A test compiles it where the machine has that
// header.

#include <cuda.h>

#include "launcher/cli/doctor/cuda_driver.h"
#include "tests/runtime/device/same_abi.h"

namespace slipway::launcher {
namespace {

#define SLIPWAY_CHECK(name) \
  static_assert(test::kIsPointerTo<decltype(CudaDriver::Entries::name), decltype(::name)>, #name)

SLIPWAY_CHECK(cuInit);
SLIPWAY_CHECK(cuDriverGetVersion);
SLIPWAY_CHECK(cuGetErrorName);
SLIPWAY_CHECK(cuDeviceGetCount);
SLIPWAY_CHECK(cuDeviceGet);
SLIPWAY_CHECK(cuDeviceGetName);
SLIPWAY_CHECK(cuDeviceGetUuid);
SLIPWAY_CHECK(cuDevicePrimaryCtxRetain);
SLIPWAY_CHECK(cuMemGetInfo);
SLIPWAY_CHECK(cuDeviceCanAccessPeer);
SLIPWAY_CHECK(cuCtxEnablePeerAccess);
SLIPWAY_CHECK(cuMemcpyPeerAsync);
static_assert(sizeof(CudaDriver::Uuid) == sizeof(CUuuid) && kCudaNoDevice == CUDA_ERROR_NO_DEVICE);

}  // namespace
}  // namespace slipway::launcher
