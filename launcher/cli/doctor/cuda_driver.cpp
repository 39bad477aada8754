#include "launcher/cli/doctor/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace slipway::launcher {
namespace {

constexpr int kCudaSuccess = 0;

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
  const bool complete =
      FindIn(library, "cuInit", driver.init_) && FindIn(library, "cuDriverGetVersion", driver.version_) &&
      FindIn(library, "cuGetErrorName", driver.error_name_) && FindIn(library, "cuDeviceGetCount", driver.count_) &&
      FindIn(library, "cuDeviceGet", driver.get_) && FindIn(library, "cuDeviceGetName", driver.name_) &&
      FindIn(library, "cuDevicePrimaryCtxRetain", driver.retain_) &&
      FindIn(library, "cuMemGetInfo_v2", driver.memory_) && FindIn(library, "cuDeviceCanAccessPeer", driver.reaches_);
  return complete ? std::optional(driver) : std::nullopt;
}

std::string CudaDriver::NameOf(int code) const {
  const char* name = nullptr;
  if (error_name_(code, &name) != kCudaSuccess || name == nullptr) return fmt::format("error {}", code);
  return fmt::format("{} ({})", name, code);
}

std::string CudaDriver::Version() const {
  int version = 0;
  if (version_(&version) != kCudaSuccess) return "of an unknown version";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int CudaDriver::Count() const {
  int count = 0;
  return count_(&count) == kCudaSuccess ? count : 0;
}

std::string CudaDriver::NameOfGpu(int ordinal) const {
  std::array<char, 256> name{};
  int device = 0;
  if (get_(&device, ordinal) != kCudaSuccess) return "unknown";
  if (name_(name.data(), static_cast<int>(name.size()) - 1, device) != kCudaSuccess) return "unknown";
  return name.data();
}

void* CudaDriver::ContextOf(int ordinal, int& code) const {
  int device = 0;
  void* context = nullptr;
  code = get_(&device, ordinal);
  if (code == kCudaSuccess) code = retain_(&context, device);
  return code == kCudaSuccess ? context : nullptr;
}

std::optional<GpuMemory> CudaDriver::Memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (memory_(&free, &total) != kCudaSuccess) return {};
  return GpuMemory{total, free};
}

bool CudaDriver::Reaches(int ordinal, int other) const {
  int device = 0;
  int other_device = 0;
  int reaches = 0;
  return get_(&device, ordinal) == kCudaSuccess && get_(&other_device, other) == kCudaSuccess &&
         reaches_(&reaches, device, other_device) == kCudaSuccess && reaches != 0;
}

}  // namespace slipway::launcher
