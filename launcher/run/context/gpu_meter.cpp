#include "launcher/run/context/gpu_meter.h"

#include <algorithm>

#include "core/process_identity.h"
#include "launcher/run/context/gpu_users.h"

namespace slipway::launcher {
namespace {

constexpr double kJoulesOfMillijoule = 1e-3;
constexpr double kWattsOfMilliwatt = 1e-3;
constexpr auto kBetweenSearches = std::chrono::seconds(5);  // BelongsToRun reads files of each process on the GPU

bool IsKnown(const MeasuredGpu& use) { return use.memory_bytes || use.utilisation; }

}  // namespace

WordTable<GpuMeasures> WordsOf(GpuMeasures) {
  static constexpr Word<GpuMeasures> kWords[] = {{GpuMeasures::kEnergyAndUse, "energy-use"},
                                                 {GpuMeasures::kUse, "use"}};
  return kWords;
}

GpuMeter::GpuMeter(const GpusToMeasure& gpus, const std::filesystem::path& library, Clock& clock)
    : what_(gpus.what),
      run_(gpus.run),
      nvml_(gpus.names.empty() ? nullptr : Nvml::Open(library)),
      clock_(clock),
      looked_(clock.Steady()),
      searched_(looked_) {
  if (!nvml_) return;
  for (auto& gpu : WholeGpus(nvml_->Gpus(), gpus.names)) {
    auto measured = FirstLook(std::move(gpu));
    measured.counts = IsUsed(measured.gpu);
    if (measured.joules || IsKnown(measured.use)) gpus_.push_back(std::move(measured));
  }
}

void GpuMeter::BeginEnergy(const Nvml::Gpu& gpu, Measured& measured) const {
  const auto energy = nvml_->EnergyOf(gpu);
  measured.has_counter = energy.has_value();
  measured.last = energy ? energy : nvml_->PowerOf(gpu);
  if (measured.last) measured.joules = 0;
}

/// A GPU whose processes are not known counts.
bool GpuMeter::IsUsed(const Nvml::Gpu& gpu) const {
  if (run_.empty()) return true;
  const auto processes = nvml_->ProcessIdsOn(gpu);
  return !processes || std::ranges::any_of(*processes, [&](pid_t process) { return BelongsToRun(process, run_); });
}

GpuMeter::Measured GpuMeter::FirstLook(Nvml::Gpu gpu) const {
  Measured measured;
  if (what_ == GpuMeasures::kEnergyAndUse) BeginEnergy(gpu, measured);
  measured.use.host = HostName();
  measured.use.gpu = gpu.uuid;
  measured.use.name = gpu.name;
  measured.gpu = std::move(gpu);
  AddUse(measured, 0);
  return measured;
}

void GpuMeter::Look() {
  if (empty()) return;
  const auto now = clock_.Steady();
  const double seconds = std::chrono::duration<double>(now - looked_).count();
  const bool is_due = now - searched_ >= kBetweenSearches;
  if (is_due) searched_ = now;
  for (auto& measured : gpus_) {
    if (!measured.counts) {
      if (is_due && IsUsed(measured.gpu)) measured = FirstLook(measured.gpu);
      continue;
    }
    if (!measured.has_counter) AddEnergy(measured, seconds);
    AddUse(measured, seconds);
  }
  looked_ = now;
}

void GpuMeter::Sample() {
  Look();
  for (auto& measured : gpus_) {
    if (measured.counts && measured.has_counter) AddEnergy(measured, 0);
  }
}

void GpuMeter::AddEnergy(Measured& measured, double seconds) const {
  if (!measured.joules) return;
  const auto now = measured.has_counter ? nvml_->EnergyOf(measured.gpu) : nvml_->PowerOf(measured.gpu);
  if (now && measured.last) {
    if (!measured.has_counter) {
      const double mean = (static_cast<double>(*measured.last) + static_cast<double>(*now)) / 2;
      *measured.joules += mean * kWattsOfMilliwatt * seconds;
    } else if (*now >= *measured.last) {  // else the driver was loaded again
      *measured.joules += static_cast<double>(*now - *measured.last) * kJoulesOfMillijoule;
    }
  }
  measured.last = now;
}

/// A look stands for the time since the one before.
void GpuMeter::AddUse(Measured& measured, double seconds) const {
  auto& use = measured.use;
  const auto before = use;
  const auto memory = nvml_->MemoryOf(measured.gpu);
  if (memory) use.memory_bytes = memory->total;
  use.memory_used_bytes = memory ? std::optional(memory->used) : std::nullopt;
  use.memory_peak_bytes = use.memory_used_bytes;
  use.utilisation = use.mean_utilisation = nvml_->UtilisationOf(measured.gpu);
  use.measured_s = seconds;
  AddEarlier(use, before);
}

std::vector<MeasuredDevice> GpuMeter::Energies() const {
  std::vector<MeasuredDevice> devices;
  for (const auto& each : gpus_) {
    if (each.counts && each.joules) devices.push_back({HostName(), DeviceKind::kGpu, each.gpu.uuid, *each.joules});
  }
  return devices;
}

std::vector<MeasuredGpu> GpuMeter::Uses() const {
  std::vector<MeasuredGpu> uses;
  for (const auto& each : gpus_) {
    if (each.counts && (each.use.memory_peak_bytes || each.use.mean_utilisation)) uses.push_back(each.use);
  }
  return uses;
}

}  // namespace slipway::launcher
