#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <mutex>

namespace slipway::runtime {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

/// Changes whenever a library is loaded.
unsigned long long LibrariesLoaded() {
  unsigned long long count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

template <class Function>
bool Has(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  return function != nullptr;
}

}  // namespace

/// False when nothing can be asked of it at all.
bool Driver::Take(void* library) {
  const auto take = [&](const char* symbol, auto*& function) {
    if (!Has(library, symbol, function) && missing_ == nullptr) missing_ = symbol;
  };
  if (!Has(library, "cuPointerGetAttribute", cuPointerGetAttribute)) return false;
  take("cuGetErrorName", cuGetErrorName);
  take("cuCtxPushCurrent_v2", cuCtxPushCurrent);
  take("cuCtxPopCurrent_v2", cuCtxPopCurrent);
  take("cuMemHostRegister_v2", cuMemHostRegister);
  take("cuMemHostUnregister", cuMemHostUnregister);
  take("cuStreamCreate", cuStreamCreate);
  take("cuStreamDestroy_v2", cuStreamDestroy);
  take("cuStreamSynchronize", cuStreamSynchronize);
  take("cuStreamWaitEvent", cuStreamWaitEvent);
  take("cuEventCreate", cuEventCreate);
  take("cuEventDestroy_v2", cuEventDestroy);
  take("cuEventRecord", cuEventRecord);
  take("cuEventQuery", cuEventQuery);
  take("cuMemcpyDtoHAsync_v2", cuMemcpyDtoHAsync);
  take("cuMemcpyHtoDAsync_v2", cuMemcpyHtoDAsync);
  has_direct_ = TakeDirect(library);
  return true;
}

void Driver::RequireComplete() const {
  if (missing_ == nullptr) return;
  throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                     fmt::format("the driver of the GPU has no function {}: it is too old; update the driver, or copy the "
                                 "tensors to the CPU's memory first",
                                 missing_));
}

bool Driver::TakeDirect(void* library) {
  auto& to = direct_;
  return Has(library, "cuMemAlloc_v2", to.cuMemAlloc) && Has(library, "cuMemFree_v2", to.cuMemFree) &&
         Has(library, "cuMemcpyDtoDAsync_v2", to.cuMemcpyDtoDAsync) &&
         Has(library, "cuIpcGetMemHandle", to.cuIpcGetMemHandle) &&
         Has(library, "cuIpcOpenMemHandle_v2", to.cuIpcOpenMemHandle) &&
         Has(library, "cuIpcCloseMemHandle", to.cuIpcCloseMemHandle) &&
         Has(library, "cuModuleLoadData", to.cuModuleLoadData) && Has(library, "cuModuleUnload", to.cuModuleUnload) &&
         Has(library, "cuModuleGetFunction", to.cuModuleGetFunction) &&
         Has(library, "cuLaunchKernel", to.cuLaunchKernel);
}

const Driver* Driver::Find() {
  void* library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);  // kept: it must not go while we may call it
  if (library == nullptr) return nullptr;
  static Driver driver;
  return driver.Take(library) ? &driver : nullptr;
}

const Driver* Driver::Loaded() {
  static std::atomic<const Driver*> found{nullptr};
  static std::atomic<unsigned long long> looked_at{0};
  static std::mutex mutex;
  if (const auto* known = found.load()) return known;
  const auto loaded = LibrariesLoaded();
  if (loaded == looked_at.load()) return nullptr;
  const std::lock_guard lock(mutex);
  const auto* driver = Find();
  found = driver;
  looked_at = loaded;
  return driver;
}

std::string Driver::NameOf(int code) const {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) != kSuccess || name == nullptr) return fmt::format("error {}", code);
  return fmt::format("{} ({})", name, code);
}

void Driver::Check(int code, const char* call) const {
  if (code == kSuccess) return;
  const bool memory = code == kOutOfMemory;
  throw DeviceError(memory ? SLIPWAY_ERROR_OUT_OF_MEMORY : SLIPWAY_ERROR_DEVICE,
                    fmt::format("{} failed: {}: {}", call, NameOf(code),
                                memory ? "the GPU or its driver has no memory left; use smaller batches, or fewer ranks "
                                         "for each GPU"
                                       : "end this process; the GPU's state is in nvidia-smi and the kernel's log"),
                    code);
}

}  // namespace slipway::runtime
