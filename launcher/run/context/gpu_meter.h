/// What the GPUs of a run on this node take and do, from NVML.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run_folder/energy_record.h"
#include "launcher/run_folder/gpu_record.h"

namespace slipway::launcher {

struct Spec;

/// Energy comes from the counter of a GPU. Where there is none, the power is added up over time. Memory and utilisation
/// come from each look. What a GPU does not know or does not answer is left out; it counts again with its next answer.
class GpuMeter {
 public:
  /// Measures nothing.
  GpuMeter() = default;
  /// `names`: as in CUDA_VISIBLE_DEVICES. Without a name the library is not loaded. `library`: another one for tests.
  explicit GpuMeter(const std::vector<std::string>& names, const std::filesystem::path& library = "libnvidia-ml.so.1",
                    Clock& clock = SystemClock());

  bool empty() const { return gpus_.empty(); }
  /// Between two looks. Without anything that changes quickly, between two samples.
  std::chrono::seconds LongestPause() const;
  /// Adds what changes quickly: power, memory, utilisation. Cost: about 10 us for each GPU.
  void Look();
  /// Looks, and adds what counters have counted since the last call. Cost: 4 ms for each counter, on an H200.
  void Sample();
  /// Those whose energy is known.
  std::vector<MeasuredDevice> Energies() const;
  /// Those whose memory or utilisation is known.
  std::vector<MeasuredGpu> Uses() const;

 private:
  struct Measured {
    Nvml::Gpu gpu;
    bool has_counter = false;
    std::optional<std::uint64_t> last;  ///< millijoules of the counter, or milliwatts
    std::optional<double> joules;       ///< nothing: the energy is not known
    MeasuredGpu use;
  };
  Measured FirstLook(Nvml::Gpu gpu) const;
  void AddEnergy(Measured& measured, double seconds) const;
  void AddUse(Measured& measured, double seconds) const;

  std::unique_ptr<Nvml> nvml_;
  Clock* clock_ = nullptr;
  SteadyTime looked_;
  std::vector<Measured> gpus_;
};

/// The GPUs of this node that a run was given: its own number of them with `launch.gpus_per_rank`, of an ensemble all
/// that its trials share. Without that field, those that the environment names; if it names none, none.
std::vector<std::string> GpusGivenTo(const Spec& spec);

}  // namespace slipway::launcher
