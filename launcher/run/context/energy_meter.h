/// The energy that the processors, the memory and the run's GPUs on this node take.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "launcher/run/context/gpu_energy_meter.h"
#include "launcher/run_folder/energy_record.h"

namespace slipway::launcher {

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
