#include "runtime/device/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/device/loaded_library.h"

namespace slipway::runtime {
namespace {

constexpr const char* kNextStep =
    "set gpu_exchange to auto, install NCCL 2.14 or newer (RCCL for AMD's GPUs), or name its file in SLIPWAY_NCCL";

/// Source: nccl.h, NCCL_VERSION.
std::string TextOfVersion(int version) {
  const int major_unit = version < 10'000 ? 1'000 : 10'000;
  return fmt::format("{}.{}.{}", version / major_unit, version % major_unit / 100, version % 100);
}

void* LibraryFor(const Driver& driver) {
  const char* path = std::getenv("SLIPWAY_NCCL");
  if (path != nullptr && *path != '\0') {
    if (void* library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL)) return library;
    throw NoNccl(fmt::format("SLIPWAY_NCCL cannot be loaded: {}", ::dlerror()));
  }
  const bool amd = driver.hip() != nullptr;
  const char* name = amd ? "librccl.so.1" : "libnccl.so.2";
  // A PyTorch that was linked with NCCL statically has its functions inside.
  for (const char* loaded : {name, amd ? "libtorch_hip.so" : "libtorch_cuda.so"}) {
    void* library = OpenLoaded({&loaded, 1});
    if (library != nullptr && ::dlsym(library, "ncclGetVersion") != nullptr) return library;
  }
  void* process = ::dlopen(nullptr, RTLD_LAZY);
  if (::dlsym(process, "ncclGetVersion") != nullptr) return process;
  if (void* library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return library;
  throw NoNccl(fmt::format("{} was not found, neither in this process nor in the system", name));
}

template <class Function>
void Take(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  if (function == nullptr) throw NoNccl(fmt::format("NCCL has no function {}", symbol));
}

}  // namespace

NoNccl::NoNccl(const std::string& reason)
    : RuntimeError(SLIPWAY_ERROR_DEVICE, fmt::format("{}: {}", reason, kNextStep)), reason_(reason) {}

Nccl::Nccl(void* library) {
  Take(library, "ncclGetVersion", ncclGetVersion);
  int number = 0;
  if (ncclGetVersion(&number) != kSuccess) throw NoNccl("NCCL does not say its version");
  version_ = TextOfVersion(number);
  if (number < kOldest) throw NoNccl(fmt::format("NCCL {} is too old", version_));
  Take(library, "ncclGetErrorString", ncclGetErrorString);
  Take(library, "ncclGetLastError", ncclGetLastError);
  Take(library, "ncclGetUniqueId", ncclGetUniqueId);
  Take(library, "ncclCommInitRankConfig", ncclCommInitRankConfig);
  Take(library, "ncclCommGetAsyncError", ncclCommGetAsyncError);
  Take(library, "ncclCommFinalize", ncclCommFinalize);
  Take(library, "ncclCommDestroy", ncclCommDestroy);
  Take(library, "ncclCommAbort", ncclCommAbort);
  Take(library, "ncclGroupStart", ncclGroupStart);
  Take(library, "ncclGroupEnd", ncclGroupEnd);
  Take(library, "ncclAllReduce", ncclAllReduce);
  Take(library, "ncclReduceScatter", ncclReduceScatter);
  Take(library, "ncclAllGather", ncclAllGather);
}

/// Looked for again after a failure: the program may load it later.
const Nccl& Nccl::Of(const Driver& driver) {
  static std::mutex mutex;
  static auto* const known = new std::map<const Driver*, std::unique_ptr<Nccl>>;
  const std::lock_guard lock(mutex);
  auto& nccl = (*known)[&driver];
  if (nccl == nullptr) nccl.reset(new Nccl(LibraryFor(driver)));
  return *nccl;
}

bool Nccl::IsThere(const Driver& driver) try {
  Of(driver);
  return true;
} catch (const RuntimeError&) {
  return false;
}

void Nccl::Check(int code, const char* call, Communicator communicator) const {
  if (code == kSuccess || code == kInProgress) return;
  const char* detail = ncclGetLastError(communicator);
  const auto why = detail != nullptr && *detail != '\0' ? fmt::format("; {}", detail) : std::string();
  throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                     fmt::format("{} failed: {} (ncclResult_t {}){}: NCCL_DEBUG=INFO shows more; gpu_exchange auto or "
                                 "staged does without NCCL",
                                 call, ncclGetErrorString(code), code, why));
}

bool Nccl::Knows(slipway_dtype dtype, slipway_op op) {
  const bool floats =
      dtype == SLIPWAY_FLOAT32 || dtype == SLIPWAY_FLOAT64 || dtype == SLIPWAY_FLOAT16 || dtype == SLIPWAY_BFLOAT16;
  return floats && (op == SLIPWAY_SUM || op == SLIPWAY_MEAN);
}

/// ncclDataType_t.
int Nccl::CodeOf(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_UINT8: return 1;
    case SLIPWAY_INT32: return 2;
    case SLIPWAY_INT64: return 4;
    case SLIPWAY_FLOAT16: return 6;
    case SLIPWAY_FLOAT32: return 7;
    case SLIPWAY_FLOAT64: return 8;
    case SLIPWAY_BFLOAT16: return 9;
  }
  return -1;
}

/// ncclRedOp_t.
int Nccl::CodeOf(slipway_op op) {
  switch (op) {
    case SLIPWAY_SUM: return 0;
    case SLIPWAY_PRODUCT: return 1;
    case SLIPWAY_MAX: return 2;
    case SLIPWAY_MIN: return 3;
    case SLIPWAY_MEAN: return 4;
  }
  return -1;
}

}  // namespace slipway::runtime
