/// NVIDIA's management library (NVML). It is loaded at run time and comes with the driver; nothing links it. Its calls
/// may block for minutes: they belong into a process of their own (gpu_helper.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace slipway::launcher {

class Nvml {
 public:
  struct Gpu {
    void* handle = nullptr;
    std::string uuid;       ///< "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
    std::string name;       ///< "NVIDIA A100-SXM4-40GB"
    bool is_split = false;  ///< into MIG devices, which may belong to several users
  };
  struct Memory {
    std::uint64_t total = 0;  ///< bytes
    std::uint64_t used = 0;   ///< bytes, by all processes and the driver
  };

  /// Null without a driver, or when its library cannot be used; the log says why. Cost: without the library almost
  /// nothing; with it, the driver may first wake idle GPUs, up to seconds.
  static std::unique_ptr<Nvml> Open(const std::filesystem::path& library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Those that this user may use, by the numbers that CUDA gives them with CUDA_DEVICE_ORDER=PCI_BUS_ID.
  std::vector<Gpu> Gpus() const;
  /// Millijoules since the driver was loaded. Nothing: the GPU has no counter (before Volta), or does not answer.
  std::optional<std::uint64_t> EnergyOf(const Gpu& gpu) const;
  /// Milliwatts.
  std::optional<std::uint64_t> PowerOf(const Gpu& gpu) const;
  std::optional<Memory> MemoryOf(const Gpu& gpu) const;
  /// The share of the last second or less in which a kernel ran: 0 to 1.
  std::optional<double> UtilisationOf(const Gpu& gpu) const;
  /// How many processes of all users compute on it.
  std::optional<unsigned> ProcessesOn(const Gpu& gpu) const;
  /// Their numbers, outside of every container.
  std::optional<std::vector<pid_t>> ProcessIdsOn(const Gpu& gpu) const;

 private:
  struct Functions;
  explicit Nvml(const Functions& functions);
  std::optional<Gpu> GpuAt(unsigned index) const;

  std::unique_ptr<const Functions> functions_;
};

/// True when the library can be loaded. Does not ask the driver.
bool HasNvml(const std::filesystem::path& library = "libnvidia-ml.so.1");

/// The GPUs that `names` name as CUDA_VISIBLE_DEVICES does: by number, or by UUID or its beginning. Split ones and MIG
/// devices are left out: NVML counts the energy of whole GPUs only. Pure.
std::vector<Nvml::Gpu> WholeGpus(const std::vector<Nvml::Gpu>& gpus, const std::vector<std::string>& names);

}  // namespace slipway::launcher
