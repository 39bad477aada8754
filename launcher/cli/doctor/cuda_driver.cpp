#include "launcher/cli/doctor/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace slipway::launcher {
namespace {

constexpr int kCudaSuccess = 0;
constexpr int kPeerAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

template <class Function>
bool FindIn(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  return function != nullptr;
}

}  // namespace

std::optional<CudaDriver> CudaDriver::Open() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // kept: its threads stay
  if (library == nullptr) return {};
  CudaDriver driver;
  auto& entries = driver.entries_;
  const bool complete = FindIn(library, "cuInit", entries.cuInit) &&
                        FindIn(library, "cuDriverGetVersion", entries.cuDriverGetVersion) &&
                        FindIn(library, "cuGetErrorName", entries.cuGetErrorName) &&
                        FindIn(library, "cuDeviceGetCount", entries.cuDeviceGetCount) &&
                        FindIn(library, "cuDeviceGet", entries.cuDeviceGet) &&
                        FindIn(library, "cuDeviceGetName", entries.cuDeviceGetName) &&
                        FindIn(library, "cuDevicePrimaryCtxRetain", entries.cuDevicePrimaryCtxRetain) &&
                        FindIn(library, "cuMemGetInfo_v2", entries.cuMemGetInfo) &&
                        FindIn(library, "cuDeviceCanAccessPeer", entries.cuDeviceCanAccessPeer);
  FindIn(library, "cuDeviceGetUuid", entries.cuDeviceGetUuid);
  FindIn(library, "cuCtxEnablePeerAccess", entries.cuCtxEnablePeerAccess);
  FindIn(library, "cuMemcpyPeerAsync", entries.cuMemcpyPeerAsync);
  return complete ? std::optional(driver) : std::nullopt;
}

std::string CudaDriver::NameOf(int code) const {
  const char* name = nullptr;
  if (entries_.cuGetErrorName(code, &name) != kCudaSuccess || name == nullptr) return fmt::format("error {}", code);
  return fmt::format("{} ({})", name, code);
}

std::string CudaDriver::Version() const {
  int version = 0;
  if (entries_.cuDriverGetVersion(&version) != kCudaSuccess) return "of an unknown version";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int CudaDriver::Count() const {
  int count = 0;
  return entries_.cuDeviceGetCount(&count) == kCudaSuccess ? count : 0;
}

std::string CudaDriver::NameOfGpu(int ordinal) const {
  std::array<char, 256> name{};
  int device = 0;
  if (entries_.cuDeviceGet(&device, ordinal) != kCudaSuccess) return "unknown";
  if (entries_.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device) != kCudaSuccess)
    return "unknown";
  return name.data();
}

std::string CudaDriver::UuidOf(int ordinal) const {
  Uuid uuid;
  int device = 0;
  if (entries_.cuDeviceGetUuid == nullptr || entries_.cuDeviceGet(&device, ordinal) != kCudaSuccess ||
      entries_.cuDeviceGetUuid(&uuid, device) != kCudaSuccess)
    return {};
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    const bool begins_group = i == 0 || (i >= 4 && i <= 10 && i % 2 == 0);
    text += fmt::format("{}{:02x}", begins_group ? "-" : "", uuid.bytes[i]);
  }
  return text;
}

void* CudaDriver::ContextOf(int ordinal, int& code) const {
  int device = 0;
  void* context = nullptr;
  code = entries_.cuDeviceGet(&device, ordinal);
  if (code == kCudaSuccess) code = entries_.cuDevicePrimaryCtxRetain(&context, device);
  return code == kCudaSuccess ? context : nullptr;
}

std::optional<GpuMemory> CudaDriver::Memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (entries_.cuMemGetInfo(&free, &total) != kCudaSuccess) return {};
  return GpuMemory{total, free};
}

bool CudaDriver::Reaches(int ordinal, int other) const {
  int device = 0;
  int other_device = 0;
  int reaches = 0;
  return entries_.cuDeviceGet(&device, ordinal) == kCudaSuccess &&
         entries_.cuDeviceGet(&other_device, other) == kCudaSuccess &&
         entries_.cuDeviceCanAccessPeer(&reaches, device, other_device) == kCudaSuccess && reaches != 0;
}

int CudaDriver::ReachContext(void* context) const {
  const int code = entries_.cuCtxEnablePeerAccess(context, 0);
  return code == kPeerAlreadyEnabled ? kCudaSuccess : code;
}

}  // namespace slipway::launcher
