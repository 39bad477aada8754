/// Records what processors and memory of the manager's node and the GPUs of all nodes take while ranks run.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/event_loop.h"
#include "launcher/run/context/energy_meter.h"
#include "launcher/run/context/gpu_watch.h"

namespace slipway::launcher {

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
