/// The energy that the processors and memory of this node take, from the counters of the kernel (RAPL).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/event_loop.h"

namespace slipway::launcher {

struct MeasuredDevice {
  std::string host;
  std::string device;  ///< "package-0", "package-0/dram"
  double joules = 0;
};

/// Adds up counters that wrap around. A counter that cannot be read counts no more.
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
/// All processes on the node count, not only those of the run. Only the manager's node is measured.
class EnergyRecorder {
 public:
  EnergyRecorder(EventLoop& loop, std::filesystem::path file);
  EnergyRecorder(const EnergyRecorder&) = delete;
  EnergyRecorder& operator=(const EnergyRecorder&) = delete;
  ~EnergyRecorder();

 private:
  void Continue();
  void Write();

  EventLoop& loop_;
  std::filesystem::path file_;
  EnergyMeter meter_;
  std::vector<MeasuredDevice> before_;  ///< of earlier managers
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
