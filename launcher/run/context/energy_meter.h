/// The energy that the processors, the memory and the run's GPUs on this node take.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/event_loop.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run_folder/energy_record.h"

namespace slipway::launcher {

struct Spec;

/// Processors and memory, from the counters of the kernel (RAPL). Adds up counters that wrap around. A counter that
/// cannot be read counts no more.
class EnergyMeter {
 public:
  /// Finds the counters below `root` that this user may read; usually only root may.
  explicit EnergyMeter(const std::filesystem::path& root = "/sys/class/powercap");

  bool empty() const { return counters_.empty(); }
  /// Adds what was used since the last call. Each counter must be read before it wraps around twice: at 200 W that is
  /// 20 minutes.
  void Sample();
  std::vector<MeasuredDevice> Devices() const;

 private:
  struct Counter {
    std::filesystem::path folder;
    std::string device;
    std::uint64_t range_uj = 0;
    std::optional<std::uint64_t> last_uj;
    double joules = 0;
  };
  void AddCounter(const std::filesystem::path& folder, std::string device);

  std::vector<Counter> counters_;
};

/// GPUs of this node, from NVML. Uses the counter of a GPU. Where there is none, it adds up the power over time. A GPU
/// that does not answer counts no more until it answers again.
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

/// Measures while it lives, and keeps the sum in a file `slipway.energy/1` that earlier managers may have begun.
/// Without a counter there is no file.
///
/// Of processors, all processes on the node count, not only those of the run. Of GPUs, only `gpus` count. Only the
/// manager's node is measured.
class EnergyRecorder {
 public:
  EnergyRecorder(EventLoop& loop, std::filesystem::path file, GpuEnergyMeter gpus);
  EnergyRecorder(const EnergyRecorder&) = delete;
  EnergyRecorder& operator=(const EnergyRecorder&) = delete;
  ~EnergyRecorder();

 private:
  void Continue();
  void Sample();
  void Write();

  EventLoop& loop_;
  std::filesystem::path file_;
  EnergyMeter meter_;
  GpuEnergyMeter gpus_;
  std::vector<MeasuredDevice> before_;  ///< of earlier managers
  SteadyTime written_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
