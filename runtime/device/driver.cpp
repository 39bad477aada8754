#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "runtime/device/loaded_library.h"

namespace slipway::runtime {
namespace {

constexpr std::array kCuda = {"libcuda.so.1"};
constexpr std::array kHip = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
/// ROCm 6 changed numbers of types of memory, and brought this function.
constexpr const char* kSinceRocm6 = "hipGetDevicePropertiesR0600";
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
bool Driver::TakeQuestions(void* library) {
  Has(library, is_hip_ ? "hipGetDeviceCount" : "cuDeviceGetCount", cuDeviceGetCount);
  if (!is_hip_) return Has(library, "cuPointerGetAttribute", cuPointerGetAttribute);
  is_before_rocm_6_ = ::dlsym(library, kSinceRocm6) == nullptr;
  if (is_before_rocm_6_) missing_ = kSinceRocm6;
  return Has(library, "hipPointerGetAttribute", cuPointerGetAttribute) &&
         Has(library, "hipPeekAtLastError", hip_.hipPeekAtLastError) &&
         Has(library, "hipGetLastError", hip_.hipGetLastError);
}

template <class Function>
bool Driver::TakeByName(void* library, const char* of_cuda, const char* of_hip, Function*& function) {
  if (is_hip_) hip_names_.emplace_back(of_cuda, of_hip);
  return Has(library, is_hip_ ? of_hip : of_cuda, function);
}

void Driver::Take(void* library) {
  const auto take = [&](const char* of_cuda, const char* of_hip, auto*& function) {
    if (!TakeByName(library, of_cuda, of_hip, function) && missing_ == nullptr) missing_ = is_hip_ ? of_hip : of_cuda;
  };
  if (is_hip_) {
    take("", "hipGetErrorName", hip_.hipGetErrorName);
    take("", "hipGetDevice", hip_.hipGetDevice);
    take("", "hipSetDevice", hip_.hipSetDevice);
  } else {
    take("cuGetErrorName", "", cuda_.cuGetErrorName);
    take("cuCtxPushCurrent_v2", "", cuda_.cuCtxPushCurrent);
    take("cuCtxPopCurrent_v2", "", cuda_.cuCtxPopCurrent);
  }
  take("cuMemHostRegister_v2", "hipHostRegister", cuMemHostRegister);
  take("cuMemHostUnregister", "hipHostUnregister", cuMemHostUnregister);
  take("cuStreamCreate", "hipStreamCreateWithFlags", cuStreamCreate);
  take("cuStreamDestroy_v2", "hipStreamDestroy", cuStreamDestroy);
  take("cuStreamSynchronize", "hipStreamSynchronize", cuStreamSynchronize);
  take("cuStreamWaitEvent", "hipStreamWaitEvent", cuStreamWaitEvent);
  take("cuEventCreate", "hipEventCreateWithFlags", cuEventCreate);
  take("cuEventDestroy_v2", "hipEventDestroy", cuEventDestroy);
  take("cuEventRecord", "hipEventRecord", cuEventRecord);
  take("cuEventQuery", "hipEventQuery", cuEventQuery);
  take("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", cuMemcpyDtoHAsync);
  take("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", cuMemcpyHtoDAsync);
  Has(library, is_hip_ ? "hipStreamIsCapturing" : "cuStreamIsCapturing", cuStreamIsCapturing);
  Has(library, is_hip_ ? "hipThreadExchangeStreamCaptureMode" : "cuThreadExchangeStreamCaptureMode",
      cuThreadExchangeStreamCaptureMode);
  has_memory_ = TakeMemory(library);
  has_direct_ = !is_hip_ && has_memory_ && TakeDirect(library);
  has_shared_events_ = has_direct_ && TakeSharedEvents(library);
}

void Driver::RequireComplete() const {
  if (missing_ == nullptr) return;
  throw RuntimeError(
      SLIPWAY_ERROR_DEVICE,
      fmt::format("the driver of the GPU has no function {}: it is too old; {}, or copy the tensors to the CPU's "
                  "memory first",
                  missing_, is_hip_ ? "use ROCm 6 or later" : "update the driver"));
}

bool Driver::TakeMemory(void* library) {
  auto& to = memory_;
  const auto take = [&](const char* of_cuda, const char* of_hip, auto*& function) {
    return TakeByName(library, of_cuda, of_hip, function);
  };
  return take("cuMemAlloc_v2", "hipMalloc", to.cuMemAlloc) && take("cuMemFree_v2", "hipFree", to.cuMemFree) &&
         take("cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", to.cuMemcpyDtoDAsync) &&
         take("cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", to.cuDeviceGetPCIBusId) &&
         take("cuMemsetD8Async", "hipMemsetD8Async", to.cuMemsetD8Async) &&
         take("cuCtxSynchronize", "hipDeviceSynchronize", to.cuCtxSynchronize) &&
         (is_hip_ || Has(library, "cuDevicePrimaryCtxRetain", to.cuDevicePrimaryCtxRetain));
}

bool Driver::TakeDirect(void* library) {
  auto& to = direct_;
  return Has(library, "cuIpcGetMemHandle", to.cuIpcGetMemHandle) &&
         Has(library, "cuIpcOpenMemHandle_v2", to.cuIpcOpenMemHandle) &&
         Has(library, "cuIpcCloseMemHandle", to.cuIpcCloseMemHandle) &&
         Has(library, "cuModuleLoadData", to.cuModuleLoadData) && Has(library, "cuModuleUnload", to.cuModuleUnload) &&
         Has(library, "cuModuleGetFunction", to.cuModuleGetFunction) &&
         Has(library, "cuLaunchKernel", to.cuLaunchKernel);
}

bool Driver::TakeSharedEvents(void* library) {
  auto& to = shared_events_;
  return Has(library, "cuDeviceGetAttribute", to.cuDeviceGetAttribute) &&
         Has(library, "cuIpcGetEventHandle", to.cuIpcGetEventHandle) &&
         Has(library, "cuIpcOpenEventHandle", to.cuIpcOpenEventHandle);
}

bool Driver::HasGpu() const {
  int count = 0;
  return cuDeviceGetCount == nullptr || (Try([&] { return cuDeviceGetCount(&count); }) == kSuccess && count > 0);
}

bool Driver::TakeLoaded(std::span<const char* const> names) {
  void* library = OpenLoaded(names);  // kept: it must stay
  if (library == nullptr || !TakeQuestions(library) || (is_hip_ && !HasGpu())) return false;
  Take(library);
  return true;
}

/// What the program has loaded so far. A driver that was found may be in use by other threads: it is not taken again.
struct Driver::Known {
  static Known& The() {
    static Known known;
    return known;
  }

  Driver cuda{false};
  Driver hip{true};
  std::atomic<bool> has_started{false};  ///< the program, CUDA's
  std::atomic<bool> has_cuda{false};
  std::atomic<bool> has_hip{false};
  std::atomic<unsigned long long> looked_at{0};
  std::mutex mutex;

  void Look(unsigned long long loaded) {
    const std::lock_guard lock(mutex);
    if (!has_cuda) has_cuda = cuda.TakeLoaded(kCuda);
    const bool is_started = has_cuda && cuda.HasGpu();
    if (!is_started && !has_hip) has_hip = hip.TakeLoaded(kHip);
    looked_at = loaded;
  }
};

const Driver* Driver::Loaded() {
  auto& known = Known::The();
  if (known.has_started) return &known.cuda;
  if (const auto loaded = LibrariesLoaded(); loaded != known.looked_at.load()) known.Look(loaded);
  if (known.has_cuda && known.cuda.HasGpu()) {
    known.has_started = true;
    return &known.cuda;
  }
  if (known.has_hip) return &known.hip;
  return known.has_cuda ? &known.cuda : nullptr;
}

const Driver* Driver::HipBesideCuda() {
  auto& known = Known::The();
  return known.has_started && known.has_hip ? &known.hip : nullptr;
}

std::string Driver::NameOf(int code) const {
  const char* name = nullptr;
  if (is_hip_) {
    name = hip_.hipGetErrorName(code);
  } else if (cuda_.cuGetErrorName(code, &name) != kSuccess) {
    name = nullptr;
  }
  if (name == nullptr) return fmt::format("error {}", code);
  return fmt::format("{} ({})", name, code);
}

std::string Driver::NameOfCall(std::string_view call) const {
  const auto is_it = [&](const auto& names) {
    const auto& of_cuda = names.first;
    return of_cuda.starts_with(call) && (of_cuda.size() == call.size() || of_cuda.substr(call.size()) == "_v2");
  };
  const auto known = std::ranges::find_if(hip_names_, is_it);
  return std::string(known != hip_names_.end() ? known->second : call);
}

void Driver::Check(int code, const char* call) const {
  if (code == kSuccess) return;
  const bool memory = code == kOutOfMemory;
  throw DeviceError(
      memory ? SLIPWAY_ERROR_OUT_OF_MEMORY : SLIPWAY_ERROR_DEVICE,
      fmt::format("{} failed: {}: {}", NameOfCall(call), NameOf(code),
                  memory ? "the GPU or its driver has no memory left; use smaller batches, or fewer ranks "
                           "for each GPU"
                         : "end this process; the GPU's state is in nvidia-smi or rocm-smi, and in the kernel's log"),
      code);
}

}  // namespace slipway::runtime
