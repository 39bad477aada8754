/// Records what processors, memory and GPUs of the manager's node take while ranks run.
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

/// Measures while it lives, and keeps the sums in files `slipway.energy/1` and `slipway.gpus/1` that earlier managers
/// may have begun. Without a device to measure there is no file.
///
/// Of processors, all processes on the node count, not only those of the run. Of GPUs, only those of the run count,
/// with all processes on them. Only the manager's node is measured.
class DeviceRecorder {
 public:
  /// `report`: gets a reason why GPUs are measured no more.
  DeviceRecorder(EventLoop& loop, DeviceFiles files, const GpusToMeasure& gpus, GpuWatch::Report report);
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
  EnergyMeter meter_;
  GpuWatch gpus_;
  std::vector<MeasuredDevice> energy_before_;  ///< of earlier managers
  std::vector<MeasuredGpu> gpus_before_;
  SteadyTime energy_written_;
  SteadyTime gpus_written_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
