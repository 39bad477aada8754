#include "launcher/run/context/energy_meter.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "core/clock.h"
#include "core/documents.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/log.h"
#include "core/process_identity.h"
#include "core/text.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

namespace {

namespace fs = std::filesystem;

constexpr auto kTimeBetweenWrites = std::chrono::seconds(30);
constexpr double kJoulesOfMicrojoule = 1e-6;

std::optional<std::uint64_t> NumberIn(const fs::path& path) try {
  const auto text = ReadFile(path);
  std::uint64_t number = 0;
  if (!ParseNumber(FirstLine(text), number)) return {};
  return number;
} catch (const Error&) {  // not for this user
  return {};
}

std::string NameIn(const fs::path& folder) try {
  return std::string(FirstLine(ReadFile(folder / "name")));
} catch (const Error&) {
  return {};
}

/// Another place is for tests.
fs::path PowercapRoot() {
  const char* root = std::getenv("SLIPWAY_POWERCAP");
  return root != nullptr ? root : "/sys/class/powercap";
}

std::vector<MeasuredDevice> EarlierDevices(const fs::path& file) try {
  return ReadEnergyRecord(file);
} catch (const Error&) {  // damaged: counted anew
  return {};
}

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

EnergyMeter::EnergyMeter(const fs::path& root) {
  constexpr std::string_view kPackage = "intel-rapl:";
  for (const auto& zone : EntriesOf(root)) {
    const auto number = zone.filename().string();
    const bool is_top = number.starts_with(kPackage) && number.find(':', kPackage.size()) == number.npos;
    const auto name = is_top ? NameIn(zone) : std::string();
    if (!name.starts_with("package")) continue;  // psys holds the packages, too
    AddCounter(zone, name);
    for (const auto& part : EntriesOf(zone)) {
      const bool is_part = part.filename().string().starts_with(kPackage);
      if (is_part && NameIn(part) == "dram") AddCounter(part, name + "/dram");
    }
  }
}

void EnergyMeter::AddCounter(const fs::path& folder, std::string device) {
  const auto range = NumberIn(folder / "max_energy_range_uj");
  const auto now = NumberIn(folder / "energy_uj");
  if (range && now) counters_.push_back({folder, std::move(device), *range, *now, 0});
}

void EnergyMeter::Sample() {
  for (auto& counter : counters_) {
    const auto now = NumberIn(counter.folder / "energy_uj");
    if (now && counter.last_uj) {
      const auto used = *now >= *counter.last_uj ? *now - *counter.last_uj : counter.range_uj - *counter.last_uj + *now;
      counter.joules += static_cast<double>(used) * kJoulesOfMicrojoule;
    }
    counter.last_uj = now;
  }
}

std::vector<MeasuredDevice> EnergyMeter::Devices() const {
  std::vector<MeasuredDevice> devices;
  for (const auto& counter : counters_) {
    devices.push_back({HostName(), DeviceKind::kCpu, counter.device, counter.joules});
  }
  return devices;
}

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

EnergyRecorder::EnergyRecorder(EventLoop& loop, fs::path file, GpuEnergyMeter gpus)
    : loop_(loop),
      file_(std::move(file)),
      meter_(PowercapRoot()),
      gpus_(std::move(gpus)),
      written_(SystemClock().Steady()) {
  if (meter_.empty() && gpus_.empty()) return;
  before_ = EarlierDevices(file_);
  Continue();
}

EnergyRecorder::~EnergyRecorder() {
  if (!timer_) return;
  loop_.Cancel(*timer_);
  Sample();
  Write();
}

void EnergyRecorder::Continue() {
  timer_ = loop_.After(std::min<std::chrono::nanoseconds>(kTimeBetweenWrites, gpus_.LongestPause()), [this] {
    Sample();
    if (SystemClock().Steady() - written_ >= kTimeBetweenWrites) Write();
    Continue();
  });
}

void EnergyRecorder::Sample() {
  meter_.Sample();
  gpus_.Sample();
}

/// The run matters more than a file that cannot be written.
void EnergyRecorder::Write() try {
  written_ = SystemClock().Steady();
  auto devices = before_;
  auto measured = meter_.Devices();
  std::ranges::move(gpus_.Devices(), std::back_inserter(measured));
  for (auto& device : measured) {
    const auto is_it = [&](const MeasuredDevice& each) {
      return each.host == device.host && each.device == device.device;
    };
    const auto found = std::ranges::find_if(devices, is_it);
    if (found == devices.end()) {
      devices.push_back(std::move(device));
    } else {
      found->joules += device.joules;
    }
  }
  WriteEnergyRecord(file_, devices);
} catch (const std::exception& error) {
  log::Warn("the energy is not recorded: {}", error.what());
}

}  // namespace slipway::launcher
