/// `energy.json` of a run folder: the energy that devices have used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/words.h"

namespace slipway {
class JsonPlace;
}

namespace slipway::launcher {

enum class DeviceKind { kCpu, kGpu };  // stored by word
WordTable<DeviceKind> WordsOf(DeviceKind);

struct MeasuredDevice {
  std::string host;
  DeviceKind kind = DeviceKind::kCpu;
  std::string device;  ///< "package-0", "package-0/dram", the UUID of a GPU
  double joules = 0;
};
void WriteValue(Json& place, const MeasuredDevice& device);
void ReadValue(const JsonPlace& place, MeasuredDevice& device);

/// Nothing: no device of this kind could be read.
struct Energy {
  std::optional<double> cpu_j;  ///< processors and their memory
  std::optional<double> gpu_j;

  /// Of all devices that could be read.
  std::optional<double> sum() const;
  Energy& operator+=(const Energy& other);
};

Energy SumOf(const std::vector<MeasuredDevice>& devices);

/// Nothing without the file. Errors: Error, when it is damaged.
std::vector<MeasuredDevice> ReadEnergyRecord(const std::filesystem::path& file);
/// Errors: SystemError.
void WriteEnergyRecord(const std::filesystem::path& file, const std::vector<MeasuredDevice>& devices);

}  // namespace slipway::launcher
