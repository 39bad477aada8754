/// The energy that the processors and the memory of this node take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace slipway::launcher
