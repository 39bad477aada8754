/// What the GPUs of a run on this node take and do, from NVML. Calls may block: see launcher/ranks/local/gpu_helper.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/json_fields.h"
#include "core/words.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run_folder/energy_record.h"
#include "launcher/run_folder/gpu_record.h"

namespace slipway::launcher {

enum class GpuMeasures { kEnergyAndUse, kUse };
WordTable<GpuMeasures> WordsOf(GpuMeasures);

struct GpusToMeasure {
  std::vector<std::string> names;  ///< as in CUDA_VISIBLE_DEVICES
  GpuMeasures what = GpuMeasures::kEnergyAndUse;
  std::string run = {};  ///< as BelongsToRun: a GPU counts from the first search that finds it; empty: at once
};

/// Among the words of slipway-gpus, in place of a run.
inline constexpr std::string_view kEveryRun = "-";

/// What was measured since the beginning: a line of slipway-gpus.
struct GpuSums {
  std::vector<MeasuredDevice> energies;  ///< of those whose energy is known
  std::vector<MeasuredGpu> uses;         ///< of those whose memory or utilisation is known
};
template <class Visitor, MaybeConst<GpuSums> Struct>
void Visit(Visitor& visit, Struct& sums) {
  visit("energies", sums.energies);
  visit("uses", sums.uses);
}

/// Energy comes from the counter of a GPU. Where there is none, the power is added up over time. Memory and utilisation
/// come from each look. What a GPU does not know or does not answer is left out; it counts again with its next answer.
class GpuMeter {
 public:
  /// Without a name the library is not loaded. `library`: another one for tests.
  explicit GpuMeter(const GpusToMeasure& gpus, const std::filesystem::path& library = "libnvidia-ml.so.1",
                    Clock& clock = SystemClock());

  /// Nothing to measure, now or later.
  bool empty() const { return gpus_.empty(); }
  /// Adds what changes quickly: power, memory, utilisation. Cost: about 10 us for each GPU that counts; of others, each
  /// five seconds, the list of their processes.
  void Look();
  /// Looks, and adds what counters have counted since the last call. Cost: 4 ms for each counter, on an H200.
  void Sample();
  GpuSums Sums() const { return {Energies(), Uses()}; }
  std::vector<MeasuredDevice> Energies() const;
  std::vector<MeasuredGpu> Uses() const;

 private:
  struct Measured {
    Nvml::Gpu gpu;
    bool has_counter = false;
    std::optional<std::uint64_t> last;  ///< millijoules of the counter, or milliwatts
    std::optional<double> joules;       ///< nothing: the energy is not known
    MeasuredGpu use;
    bool counts = true;
  };
  void BeginEnergy(const Nvml::Gpu& gpu, Measured& measured) const;
  Measured FirstLook(Nvml::Gpu gpu) const;
  bool IsUsed(const Nvml::Gpu& gpu) const;
  void AddEnergy(Measured& measured, double seconds) const;
  void AddUse(Measured& measured, double seconds) const;

  GpuMeasures what_;
  std::string run_;
  std::unique_ptr<Nvml> nvml_;
  Clock& clock_;
  SteadyTime looked_;
  SteadyTime searched_;  ///< for processes of the run on GPUs that do not count
  std::vector<Measured> gpus_;
};

}  // namespace slipway::launcher
