/// Records what processors and memory of the manager's node and the GPUs of all nodes take while ranks run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/event_loop.h"
#include "launcher/run/context/gpu_watch.h"
#include "launcher/run_folder/energy_record.h"

namespace slipway::launcher {

/// The energy that the processors and the memory of this node take, from the counters of the kernel (RAPL). Adds up
/// counters that wrap around. A counter that cannot be read counts no more.
class EnergyMeter {
 public:
  /// Finds the counters below `root` that this user may read; usually only root may.
  explicit EnergyMeter(const std::filesystem::path& root);

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

/// The files of a run folder that a recorder keeps.
struct DeviceFiles {
  std::filesystem::path energy;
  std::filesystem::path gpus;
};

struct DevicesToMeasure {
  GpusToMeasure gpus = {};             ///< of the manager's node, unless an agent measures them
  std::vector<GpusOfNode> nodes = {};  ///< as agents measure them
  bool processors = true;              ///< those of the manager's node
};

/// Measures while it lives, and keeps the sums in files `slipway.energy/1` and `slipway.gpus/1` that earlier managers
/// may have begun. Without a device to measure there is no file.
///
/// Of processors, all processes on the node count, not only those of the run; only those of the manager's node are
/// measured. Of GPUs, only those of the run count, with all processes on them.
class DeviceRecorder {
 public:
  /// `report`: gets a reason why GPUs are measured no more.
  DeviceRecorder(EventLoop& loop, DeviceFiles files, DevicesToMeasure devices, const GpuWatch::Report& report);
  DeviceRecorder(const DeviceRecorder&) = delete;
  DeviceRecorder& operator=(const DeviceRecorder&) = delete;
  ~DeviceRecorder();

 private:
  void Continue();
  void WriteIfDue();
  void SampleAndWriteEnergy();
  void WriteGpus();

  EventLoop& loop_;
  DeviceFiles files_;
  std::optional<EnergyMeter> meter_;
  GpuWatch gpus_;
  std::chrono::seconds between_gpu_writes_;
  NodesGpuWatch nodes_;
  std::vector<MeasuredDevice> energy_before_;  ///< of earlier managers
  std::vector<MeasuredGpu> gpus_before_;
  SteadyTime energy_written_;
  SteadyTime gpus_written_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
