/// `gpus.json` of a run folder: how much of their GPUs a run has used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace slipway {
class JsonPlace;
}

namespace slipway::launcher {

/// Nothing: the GPU or its driver does not say.
struct MeasuredGpu {
  std::string host;
  std::string gpu;   ///< UUID
  std::string name;  ///< "NVIDIA H200"
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_used_bytes;  ///< by all processes, at the last look
  std::optional<std::uint64_t> memory_peak_bytes;  ///< the most of all looks
  std::optional<double> utilisation;               ///< at the last look; 0 to 1
  std::optional<double> mean_utilisation;          ///< over `measured_s`
  double measured_s = 0;                           ///< how long the utilisation was looked at
};
void WriteValue(Json& place, const MeasuredGpu& gpu);
void ReadValue(const JsonPlace& place, MeasuredGpu& gpu);

/// Of all GPUs of a run.
struct GpuUse {
  std::optional<std::uint64_t> memory_peak_bytes;  ///< of the GPU whose memory was used most
  std::optional<double> utilisation;               ///< mean over GPUs and time; 0 to 1
};
GpuUse UseOf(const std::vector<MeasuredGpu>& gpus);

/// `gpu` goes on where `earlier` ended: the peak is that of both, the mean counts both times.
void AddEarlier(MeasuredGpu& gpu, const MeasuredGpu& earlier);

/// Nothing without the file. Errors: Error, when it is damaged.
std::vector<MeasuredGpu> ReadGpuRecord(const std::filesystem::path& file);
/// Errors: SystemError.
void WriteGpuRecord(const std::filesystem::path& file, const std::vector<MeasuredGpu>& gpus);

}  // namespace slipway::launcher
