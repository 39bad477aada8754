#include "launcher/run_folder/gpu_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_fields.h"
#include "launcher/run_folder/device_records.h"

namespace slipway::launcher {
namespace {

constexpr auto kGpusSchema = "slipway.gpus/1";

/// A mean over time, of parts that may be unknown.
class TimeMean {
 public:
  void Add(std::optional<double> value, double seconds) {
    if (!value || seconds <= 0) return;
    sum_ += *value * seconds;
    seconds_ += seconds;
  }
  std::optional<double> mean() const { return seconds_ > 0 ? std::optional(sum_ / seconds_) : std::nullopt; }
  double seconds() const { return seconds_; }

 private:
  double sum_ = 0;
  double seconds_ = 0;
};

}  // namespace

template <class Visitor, MaybeConst<MeasuredGpu> Struct>
void Visit(Visitor& visit, Struct& gpu) {
  visit("host", gpu.host);
  visit("gpu", gpu.gpu);
  visit("name", gpu.name);
  visit("memory_bytes", gpu.memory_bytes);
  visit("memory_used_bytes", gpu.memory_used_bytes);
  visit("memory_peak_bytes", gpu.memory_peak_bytes);
  visit("utilisation", gpu.utilisation);
  visit("mean_utilisation", gpu.mean_utilisation);
  visit("measured_s", gpu.measured_s);
}

void WriteValue(Json& place, const MeasuredGpu& gpu) {
  FieldWriter writer(place);
  Visit(writer, gpu);
}

void ReadValue(const JsonPlace& place, MeasuredGpu& gpu) {
  FieldReader reader(place);
  Visit(reader, gpu);
}

GpuUse UseOf(const std::vector<MeasuredGpu>& gpus) {
  GpuUse use;
  TimeMean utilisation;
  for (const auto& gpu : gpus) {
    use.memory_peak_bytes = std::max(use.memory_peak_bytes, gpu.memory_peak_bytes);
    utilisation.Add(gpu.mean_utilisation, gpu.measured_s);
  }
  use.utilisation = utilisation.mean();
  return use;
}

void AddEarlier(MeasuredGpu& gpu, const MeasuredGpu& earlier) {
  TimeMean utilisation;
  utilisation.Add(gpu.mean_utilisation, gpu.measured_s);
  utilisation.Add(earlier.mean_utilisation, earlier.measured_s);
  gpu.mean_utilisation = utilisation.mean();
  gpu.measured_s = utilisation.seconds();
  gpu.memory_peak_bytes = std::max(gpu.memory_peak_bytes, earlier.memory_peak_bytes);
}

std::vector<MeasuredGpu> ReadGpuRecord(const std::filesystem::path& file) {
  return ReadDeviceRecords<MeasuredGpu>(file, kGpusSchema, "gpus");
}

void WriteGpuRecord(const std::filesystem::path& file, const std::vector<MeasuredGpu>& gpus) {
  const Json document{{"schema", kGpusSchema}, {"gpus", WriteFields(gpus)}};
  WriteFileAtomically(file, document.dump(1) + "\n");
}

}  // namespace slipway::launcher
