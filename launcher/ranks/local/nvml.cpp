#include "launcher/ranks/local/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "core/lines.h"
#include "core/log.h"
#include "launcher/ranks/local/nvml_entries.h"

namespace slipway::launcher {
namespace {

using namespace nvml;
using GetText = decltype(Entries::nvmlDeviceGetUUID);

}  // namespace

struct Nvml::Functions : nvml::Entries {};

namespace {

template <class Function>
void Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

#define SLIPWAY_FIND(name) Find(library, #name, functions.name)
template <class Functions>
Functions FunctionsOf(void* library) {
  Functions functions;
  SLIPWAY_FIND(nvmlInit_v2);
  SLIPWAY_FIND(nvmlShutdown);
  SLIPWAY_FIND(nvmlErrorString);
  SLIPWAY_FIND(nvmlDeviceGetCount_v2);
  SLIPWAY_FIND(nvmlDeviceGetHandleByIndex_v2);
  SLIPWAY_FIND(nvmlDeviceGetUUID);
  SLIPWAY_FIND(nvmlDeviceGetName);
  SLIPWAY_FIND(nvmlDeviceGetTotalEnergyConsumption);
  SLIPWAY_FIND(nvmlDeviceGetPowerUsage);
  SLIPWAY_FIND(nvmlDeviceGetMigMode);
  SLIPWAY_FIND(nvmlDeviceGetMemoryInfo);
  SLIPWAY_FIND(nvmlDeviceGetUtilizationRates);
  SLIPWAY_FIND(nvmlDeviceGetComputeRunningProcesses_v3);
  return functions;
}
#undef SLIPWAY_FIND

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
  if (const int result = functions.nvmlInit_v2(); result != kSuccess) {
    log::Info("GPUs are not measured: {}: {}; nvidia-smi shows whether the driver works", path.native(),
              functions.nvmlErrorString(result));
    return nullptr;
  }
  return std::unique_ptr<Nvml>(new Nvml(functions));
}

Nvml::Nvml(const Functions& functions) : functions_(std::make_unique<const Functions>(functions)) {}
Nvml::~Nvml() { functions_->nvmlShutdown(); }

std::vector<Nvml::Gpu> Nvml::Gpus() const {
  unsigned count = 0;
  if (functions_->nvmlDeviceGetCount_v2(&count) != kSuccess) return {};
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    if (auto gpu = GpuAt(index)) gpus.push_back(std::move(*gpu));
  }
  return gpus;
}

/// NVML counts GPUs that this user may not use, too. CUDA does not.
std::optional<Nvml::Gpu> Nvml::GpuAt(unsigned index) const {
  Device device = nullptr;
  if (functions_->nvmlDeviceGetHandleByIndex_v2(index, &device) != kSuccess) return {};
  unsigned is_split = 0;
  unsigned pending = 0;
  if (functions_->nvmlDeviceGetMigMode == nullptr ||
      functions_->nvmlDeviceGetMigMode(device, &is_split, &pending) != kSuccess)
    is_split = 0;
  return Gpu{device, TextFrom(functions_->nvmlDeviceGetUUID, device), TextFrom(functions_->nvmlDeviceGetName, device),
             is_split != 0};
}

std::optional<std::uint64_t> Nvml::EnergyOf(const Gpu& gpu) const {
  unsigned long long millijoules = 0;
  if (functions_->nvmlDeviceGetTotalEnergyConsumption == nullptr ||
      functions_->nvmlDeviceGetTotalEnergyConsumption(gpu.handle, &millijoules) != kSuccess)
    return {};
  return millijoules;
}

std::optional<std::uint64_t> Nvml::PowerOf(const Gpu& gpu) const {
  unsigned milliwatts = 0;
  if (functions_->nvmlDeviceGetPowerUsage == nullptr ||
      functions_->nvmlDeviceGetPowerUsage(gpu.handle, &milliwatts) != kSuccess)
    return {};
  return milliwatts;
}

std::optional<Nvml::Memory> Nvml::MemoryOf(const Gpu& gpu) const {
  MemoryBytes bytes{};
  if (functions_->nvmlDeviceGetMemoryInfo == nullptr ||
      functions_->nvmlDeviceGetMemoryInfo(gpu.handle, &bytes) != kSuccess)
    return {};
  return Memory{bytes.total, bytes.used};
}

std::optional<double> Nvml::UtilisationOf(const Gpu& gpu) const {
  UsePercent percent{};
  if (functions_->nvmlDeviceGetUtilizationRates == nullptr ||
      functions_->nvmlDeviceGetUtilizationRates(gpu.handle, &percent) != kSuccess)
    return {};
  return std::min(percent.gpu, 100U) / 100.0;
}

/// With room for none, NVML answers with their number.
std::optional<unsigned> Nvml::ProcessesOn(const Gpu& gpu) const {
  unsigned count = 0;
  if (functions_->nvmlDeviceGetComputeRunningProcesses_v3 == nullptr) return {};
  const int result = functions_->nvmlDeviceGetComputeRunningProcesses_v3(gpu.handle, &count, nullptr);
  if (result != kSuccess && result != kInsufficientSize) return {};
  return count;
}

/// Some may begin between the two calls. Early drivers 535 write 32 bytes for each process: there is room for them, and
/// the first one is right.
std::optional<std::vector<pid_t>> Nvml::ProcessIdsOn(const Gpu& gpu) const {
  constexpr unsigned kLater = 16;
  const auto before = ProcessesOn(gpu);
  if (!before) return {};
  unsigned count = *before + kLater;
  std::vector<ProcessInfo> infos(std::size_t{2} * count);
  if (functions_->nvmlDeviceGetComputeRunningProcesses_v3(gpu.handle, &count, infos.data()) != kSuccess) return {};
  std::vector<pid_t> ids;
  for (unsigned i = 0; i < count; ++i) ids.push_back(static_cast<pid_t>(infos[i].pid));
  return ids;
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
