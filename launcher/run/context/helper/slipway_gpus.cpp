/// slipway-gpus: asks NVML for the launcher (launcher/ranks/local/gpu_helper.h). The driver may block it for minutes.
///
/// slipway-gpus names                the names of all GPUs: a list in one line of JSON
/// slipway-gpus energy-use NAME...   each second a line of JSON (GpuSums), and a last one when the input ends; NAMEs as
///                                   in CUDA_VISIBLE_DEVICES
/// slipway-gpus use NAME...          the same without energy
/// Without a GPU to measure, the first line is the last one.

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "launcher/ranks/local/nvml.h"
#include "launcher/run/context/gpu_meter.h"

namespace slipway::launcher {
namespace {

constexpr int kMillisBetweenLooks = 1000;
constexpr auto kBetweenSamples = std::chrono::seconds(30);  // a sample takes milliseconds of each GPU

void Print(const Json& json) {
  std::puts(json.dump().c_str());
  std::fflush(stdout);
}

void PrintNames() {
  const auto nvml = Nvml::Open();
  auto names = Json::array();
  for (const auto& gpu : nvml ? nvml->Gpus() : std::vector<Nvml::Gpu>()) names.push_back(gpu.name);
  Print(names);
}

/// Nobody writes into it.
bool InputEndsIn(int millis) {
  pollfd watch{STDIN_FILENO, POLLIN, 0};
  return ::poll(&watch, 1, millis) > 0;
}

void Measure(const GpusToMeasure& gpus) {
  GpuMeter meter(gpus);
  Print(WriteFields(meter.Sums()));
  if (meter.empty()) return;
  auto sampled = SystemClock().Steady();
  while (!InputEndsIn(kMillisBetweenLooks)) {
    const auto now = SystemClock().Steady();
    const bool is_due = now - sampled >= kBetweenSamples;
    is_due ? meter.Sample() : meter.Look();
    if (is_due) sampled = now;
    Print(WriteFields(meter.Sums()));
  }
  meter.Sample();
  Print(WriteFields(meter.Sums()));
}

int CarryOut(const std::vector<std::string>& words) {
  if (words.empty()) return 2;
  if (words[0] == "names") {
    PrintNames();
    return 0;
  }
  const auto what = FromWord<GpuMeasures>(words[0]);
  if (!what) return 2;
  Measure({{words.begin() + 1, words.end()}, *what});
  return 0;
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) try {
  return slipway::launcher::CarryOut({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::fprintf(stderr, "slipway-gpus: %s\n", error.what());
  return 1;
}
