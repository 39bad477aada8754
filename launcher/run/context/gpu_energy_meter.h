/// The energy that GPUs of this node take, from NVML.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run_folder/energy_record.h"

namespace slipway::launcher {

struct Spec;

/// Uses the counter of a GPU. Where there is none, it adds up the power over time. A GPU that does not answer counts no
/// more until it answers again.
class GpuEnergyMeter {
 public:
  /// Measures nothing.
  GpuEnergyMeter() = default;
  /// `names`: as in CUDA_VISIBLE_DEVICES. Without a name the library is not loaded. `library`: another one for tests.
  explicit GpuEnergyMeter(const std::vector<std::string>& names,
                          const std::filesystem::path& library = "libnvidia-ml.so.1", Clock& clock = SystemClock());

  bool empty() const { return gpus_.empty(); }
  /// How often to sample; power must be read often.
  std::chrono::seconds LongestPause() const;
  /// Adds what was used since the last call.
  void Sample();
  std::vector<MeasuredDevice> Devices() const;

 private:
  struct Measured {
    Nvml::Gpu gpu;
    bool has_counter = false;
    std::optional<std::uint64_t> last;  ///< millijoules of the counter, or milliwatts
    double joules = 0;
  };
  void Add(Measured& measured, double seconds);

  std::unique_ptr<Nvml> nvml_;
  Clock* clock_ = nullptr;
  SteadyTime sampled_;
  std::vector<Measured> gpus_;
};

/// The GPUs of this node that a run was given: its own number of them with `launch.gpus_per_rank`, of an ensemble all
/// that its trials share. Without that field, those that the environment names; if it names none, none.
std::vector<std::string> GpusGivenTo(const Spec& spec);

}  // namespace slipway::launcher
