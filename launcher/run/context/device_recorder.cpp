#include "launcher/run/context/device_recorder.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "core/error.h"
#include "core/log.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kBetweenEnergyWrites = std::chrono::seconds(30);
constexpr auto kBetweenGpuWrites = std::chrono::seconds(5);  // people look at them

/// Another place is for tests.
fs::path PowercapRoot() {
  const char* root = std::getenv("SLIPWAY_POWERCAP");
  return root != nullptr ? root : "/sys/class/powercap";
}

/// A damaged file counts as none.
template <class Read>
auto Earlier(Read read, const fs::path& file) -> decltype(read(file)) try {
  return read(file);
} catch (const Error&) {
  return {};
}

void AddTo(std::vector<MeasuredDevice>& devices, MeasuredDevice device) {
  const auto is_it = [&](const auto& each) { return each.host == device.host && each.device == device.device; };
  const auto found = std::ranges::find_if(devices, is_it);
  if (found == devices.end()) return devices.push_back(std::move(device));
  found->joules += device.joules;
}

void AddTo(std::vector<MeasuredGpu>& gpus, MeasuredGpu gpu) {
  const auto is_it = [&](const auto& each) { return each.host == gpu.host && each.gpu == gpu.gpu; };
  const auto found = std::ranges::find_if(gpus, is_it);
  if (found == gpus.end()) return gpus.push_back(std::move(gpu));
  AddEarlier(gpu, *found);
  *found = std::move(gpu);
}

}  // namespace

DeviceRecorder::DeviceRecorder(EventLoop& loop, DeviceFiles files, const GpusToMeasure& gpus, GpuWatch::Report report)
    : loop_(loop),
      files_(std::move(files)),
      meter_(PowercapRoot()),
      gpus_(loop, gpus, std::move(report)),
      energy_written_(SystemClock().Steady()),
      gpus_written_(energy_written_) {
  if (meter_.empty() && gpus.names.empty()) return;
  energy_before_ = Earlier(ReadEnergyRecord, files_.energy);
  gpus_before_ = Earlier(ReadGpuRecord, files_.gpus);
  Continue();
}

DeviceRecorder::~DeviceRecorder() {
  if (!timer_) return;
  loop_.Cancel(*timer_);
  gpus_.Finish();
  SampleAndWriteEnergy();
  WriteGpus();
}

void DeviceRecorder::Continue() {
  timer_ = loop_.After(kBetweenGpuWrites, [this] {
    WriteIfDue();
    Continue();
  });
}

void DeviceRecorder::WriteIfDue() {
  const auto now = SystemClock().Steady();
  if (now - energy_written_ >= kBetweenEnergyWrites) SampleAndWriteEnergy();
  if (now - gpus_written_ >= kBetweenGpuWrites) WriteGpus();
}

/// The run matters more than a file that cannot be written.
void DeviceRecorder::SampleAndWriteEnergy() try {
  energy_written_ = SystemClock().Steady();
  meter_.Sample();
  auto devices = energy_before_;
  for (auto& device : meter_.Devices()) AddTo(devices, std::move(device));
  for (const auto& device : gpus_.sums().energies) AddTo(devices, device);
  if (!devices.empty()) WriteEnergyRecord(files_.energy, devices);
} catch (const std::exception& error) {
  log::Warn("the energy is not recorded: {}", error.what());
}

void DeviceRecorder::WriteGpus() try {
  gpus_written_ = SystemClock().Steady();
  auto gpus = gpus_before_;
  for (const auto& gpu : gpus_.sums().uses) AddTo(gpus, gpu);
  if (!gpus.empty()) WriteGpuRecord(files_.gpus, gpus);
} catch (const std::exception& error) {
  log::Warn("memory and utilisation of GPUs are not recorded: {}", error.what());
}

}  // namespace slipway::launcher
