#include "launcher/ranks/local/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "core/lines.h"
#include "core/log.h"

namespace slipway::launcher {
namespace {

/// nvmlReturn_t of nvml.h.
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
/// NVML_DEVICE_UUID_V2_BUFFER_SIZE and NVML_DEVICE_NAME_V2_BUFFER_SIZE.
constexpr unsigned kTextBytes = 96;

using Device = void*;
using GetText = int (*)(Device, char*, unsigned);

/// nvmlMemory_t.
struct MemoryBytes {
  unsigned long long total, free, used;
};

/// nvmlUtilization_t.
struct UsePercent {
  unsigned gpu, memory;
};

}  // namespace

/// Source: nvml.h of CUDA 12. What is optional is null in older libraries.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*at)(unsigned, Device*) = nullptr;
  GetText uuid = nullptr;
  GetText name = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;     ///< optional
  int (*power)(Device, unsigned*) = nullptr;                ///< optional
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;  ///< optional
  int (*memory)(Device, MemoryBytes*) = nullptr;            ///< optional
  int (*use)(Device, UsePercent*) = nullptr;                ///< optional
  int (*processes)(Device, unsigned*, void*) = nullptr;     ///< optional

  bool complete() const { return init && shutdown && error && count && at && uuid && name; }
};

namespace {

template <class Function>
void Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

template <class Functions>
Functions FunctionsOf(void* library) {
  Functions functions;
  Find(library, "nvmlInit_v2", functions.init);
  Find(library, "nvmlShutdown", functions.shutdown);
  Find(library, "nvmlErrorString", functions.error);
  Find(library, "nvmlDeviceGetCount_v2", functions.count);
  Find(library, "nvmlDeviceGetHandleByIndex_v2", functions.at);
  Find(library, "nvmlDeviceGetUUID", functions.uuid);
  Find(library, "nvmlDeviceGetName", functions.name);
  Find(library, "nvmlDeviceGetTotalEnergyConsumption", functions.energy);
  Find(library, "nvmlDeviceGetPowerUsage", functions.power);
  Find(library, "nvmlDeviceGetMigMode", functions.mig_mode);
  Find(library, "nvmlDeviceGetMemoryInfo", functions.memory);
  Find(library, "nvmlDeviceGetUtilizationRates", functions.use);
  Find(library, "nvmlDeviceGetComputeRunningProcesses_v3", functions.processes);
  return functions;
}

std::string TextFrom(GetText get, Device device) {
  std::array<char, kTextBytes> text{};
  if (get(device, text.data(), kTextBytes) != kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

}  // namespace

bool HasNvml(const std::filesystem::path& library) {
  void* found = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

std::unique_ptr<Nvml> Nvml::Open(const std::filesystem::path& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // kept: its threads may outlive a shutdown
  if (library == nullptr) return nullptr;
  const auto functions = FunctionsOf<Functions>(library);
  if (!functions.complete()) {
    log::Info("GPUs are not measured: {} is too old; update the driver", path.native());
    return nullptr;
  }
  if (const int result = functions.init(); result != kSuccess) {
    log::Info("GPUs are not measured: {}: {}; nvidia-smi shows whether the driver works", path.native(),
              functions.error(result));
    return nullptr;
  }
  return std::unique_ptr<Nvml>(new Nvml(functions));
}

Nvml::Nvml(const Functions& functions) : functions_(std::make_unique<const Functions>(functions)) {}
Nvml::~Nvml() { functions_->shutdown(); }

std::vector<Nvml::Gpu> Nvml::Gpus() const {
  unsigned count = 0;
  if (functions_->count(&count) != kSuccess) return {};
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    if (auto gpu = GpuAt(index)) gpus.push_back(std::move(*gpu));
  }
  return gpus;
}

/// NVML counts GPUs that this user may not use, too. CUDA does not.
std::optional<Nvml::Gpu> Nvml::GpuAt(unsigned index) const {
  Device device = nullptr;
  if (functions_->at(index, &device) != kSuccess) return {};
  unsigned is_split = 0;
  unsigned pending = 0;
  if (functions_->mig_mode == nullptr || functions_->mig_mode(device, &is_split, &pending) != kSuccess) is_split = 0;
  return Gpu{device, TextFrom(functions_->uuid, device), TextFrom(functions_->name, device), is_split != 0};
}

std::optional<std::uint64_t> Nvml::EnergyOf(const Gpu& gpu) const {
  unsigned long long millijoules = 0;
  if (functions_->energy == nullptr || functions_->energy(gpu.handle, &millijoules) != kSuccess) return {};
  return millijoules;
}

std::optional<std::uint64_t> Nvml::PowerOf(const Gpu& gpu) const {
  unsigned milliwatts = 0;
  if (functions_->power == nullptr || functions_->power(gpu.handle, &milliwatts) != kSuccess) return {};
  return milliwatts;
}

std::optional<Nvml::Memory> Nvml::MemoryOf(const Gpu& gpu) const {
  MemoryBytes bytes{};
  if (functions_->memory == nullptr || functions_->memory(gpu.handle, &bytes) != kSuccess) return {};
  return Memory{bytes.total, bytes.used};
}

std::optional<double> Nvml::UtilisationOf(const Gpu& gpu) const {
  UsePercent percent{};
  if (functions_->use == nullptr || functions_->use(gpu.handle, &percent) != kSuccess) return {};
  return std::min(percent.gpu, 100U) / 100.0;
}

/// With room for none, NVML answers with their number.
std::optional<unsigned> Nvml::ProcessesOn(const Gpu& gpu) const {
  unsigned count = 0;
  if (functions_->processes == nullptr) return {};
  const int result = functions_->processes(gpu.handle, &count, nullptr);
  if (result != kSuccess && result != kInsufficientSize) return {};
  return count;
}

std::vector<Nvml::Gpu> WholeGpus(const std::vector<Nvml::Gpu>& gpus, const std::vector<std::string>& names) {
  std::vector<Nvml::Gpu> found;
  for (const auto& name : names) {
    std::size_t number = 0;
    const bool is_number = ParseNumber(std::string_view(name), number);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const bool is_it = is_number ? i == number : name.starts_with("GPU-") && gpus[i].uuid.starts_with(name);
      if (is_it && !gpus[i].is_split && !gpus[i].uuid.empty()) found.push_back(gpus[i]);
    }
  }
  return found;
}

}  // namespace slipway::launcher
