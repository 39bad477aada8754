#include "launcher/run/context/gpu_energy_meter.h"

#include <algorithm>

#include "core/environment.h"
#include "core/process_identity.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

constexpr double kJoulesOfMillijoule = 1e-3;
constexpr double kWattsOfMilliwatt = 1e-3;
constexpr auto kPauseWithCounters = std::chrono::seconds(30);
constexpr auto kPauseWithPower = std::chrono::seconds(1);

NodeDevices DevicesGivenTo(const Spec& spec) {
  const int wanted = spec.launch.gpus_per_rank * spec.launch.ranks_per_node;
  if (wanted == 0) return DevicesNamedIn(Environment::Inherited());
  const auto all = DevicesOfThisNode();
  return spec.ensemble || spec.launch.bind == Bind::kNone ? all : all.Part(0, wanted);
}

}  // namespace

std::vector<std::string> GpusGivenTo(const Spec& spec) {
  for (const auto& list : DevicesGivenTo(spec).lists) {
    if (list.variable == "CUDA_VISIBLE_DEVICES") return list.names;
  }
  return {};
}

GpuEnergyMeter::GpuEnergyMeter(const std::vector<std::string>& names, const std::filesystem::path& library,
                               Clock& clock)
    : nvml_(names.empty() ? nullptr : Nvml::Open(library)), clock_(&clock), sampled_(clock.Steady()) {
  if (!nvml_) return;
  for (auto& gpu : WholeGpus(nvml_->Gpus(), names)) {
    const auto energy = nvml_->EnergyOf(gpu);
    const auto first = energy ? energy : nvml_->PowerOf(gpu);
    if (first) gpus_.push_back({std::move(gpu), energy.has_value(), first, 0});
  }
}

std::chrono::seconds GpuEnergyMeter::LongestPause() const {
  const bool all_count = std::ranges::all_of(gpus_, &Measured::has_counter);
  return all_count ? kPauseWithCounters : kPauseWithPower;
}

void GpuEnergyMeter::Sample() {
  if (empty()) return;
  const auto now = clock_->Steady();
  const double seconds = std::chrono::duration<double>(now - sampled_).count();
  for (auto& measured : gpus_) Add(measured, seconds);
  sampled_ = now;
}

void GpuEnergyMeter::Add(Measured& measured, double seconds) {
  const auto now = measured.has_counter ? nvml_->EnergyOf(measured.gpu) : nvml_->PowerOf(measured.gpu);
  if (now && measured.last) {
    if (!measured.has_counter) {
      const double mean = (static_cast<double>(*measured.last) + static_cast<double>(*now)) / 2;
      measured.joules += mean * kWattsOfMilliwatt * seconds;
    } else if (*now >= *measured.last) {  // else the driver was loaded again
      measured.joules += static_cast<double>(*now - *measured.last) * kJoulesOfMillijoule;
    }
  }
  measured.last = now;
}

std::vector<MeasuredDevice> GpuEnergyMeter::Devices() const {
  std::vector<MeasuredDevice> devices;
  for (const auto& each : gpus_) devices.push_back({HostName(), DeviceKind::kGpu, each.gpu.uuid, each.joules});
  return devices;
}

}  // namespace slipway::launcher
