// Compares runtime/device/nccl.h with the real header. A test compiles it where the machine has that header.

#include <nccl.h>

#include <cstddef>

#include "runtime/device/nccl.h"
#include "tests/runtime/device/same_abi.h"

namespace {

using slipway::runtime::Nccl;

static_assert(NCCL_VERSION_CODE >= Nccl::kOldest && NCCL_VERSION(2, 14, 0) == Nccl::kOldest);
static_assert(sizeof(ncclUniqueId) == sizeof(Nccl::Id));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(Nccl::Config, magic));
static_assert(offsetof(ncclConfig_t, version) == offsetof(Nccl::Config, version));
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(Nccl::Config, blocking));
static_assert(sizeof(ncclConfig_t) >= sizeof(Nccl::Config) && NCCL_CONFIG_UNDEF_INT == Nccl::Config().unset);
static_assert(int{ncclSuccess} == Nccl::kSuccess && int{ncclInProgress} == Nccl::kInProgress);
static_assert(int{ncclInternalError} == 3 && int{ncclRemoteError} == 6);
static_assert(int{ncclSum} == 0 && int{ncclProd} == 1 && int{ncclMax} == 2 && int{ncclMin} == 3 && int{ncclAvg} == 4);
static_assert(int{ncclUint8} == 1 && int{ncclInt32} == 2 && int{ncclInt64} == 4 && int{ncclFloat16} == 6);
static_assert(int{ncclFloat32} == 7 && int{ncclFloat64} == 8 && int{ncclBfloat16} == 9);

#define SLIPWAY_CHECK(name) static_assert(slipway::test::kIsPointerTo<decltype(Nccl::name), decltype(::name)>, #name)

SLIPWAY_CHECK(ncclGetVersion);
SLIPWAY_CHECK(ncclGetErrorString);
SLIPWAY_CHECK(ncclGetLastError);
SLIPWAY_CHECK(ncclGetUniqueId);
SLIPWAY_CHECK(ncclCommInitRankConfig);
SLIPWAY_CHECK(ncclCommGetAsyncError);
SLIPWAY_CHECK(ncclCommFinalize);
SLIPWAY_CHECK(ncclCommDestroy);
SLIPWAY_CHECK(ncclCommAbort);
SLIPWAY_CHECK(ncclGroupStart);
SLIPWAY_CHECK(ncclGroupEnd);
SLIPWAY_CHECK(ncclAllReduce);
SLIPWAY_CHECK(ncclReduceScatter);
SLIPWAY_CHECK(ncclAllGather);

}  // namespace
