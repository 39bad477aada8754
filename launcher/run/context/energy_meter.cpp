#include "launcher/run/context/energy_meter.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/lines.h"
#include "core/log.h"
#include "core/process_identity.h"

namespace slipway::launcher {

template <class Visitor, MaybeConst<MeasuredDevice> Struct>
void Visit(Visitor& visit, Struct& device) {
  visit("host", device.host);
  visit("device", device.device);
  visit("joules", device.joules);
}

namespace {

namespace fs = std::filesystem;

constexpr auto kEnergySchema = "slipway.energy/1";
constexpr auto kTimeBetweenSamples = std::chrono::seconds(30);
constexpr double kJoulesOfMicrojoule = 1e-6;

std::optional<std::uint64_t> NumberIn(const fs::path& path) try {
  const auto text = ReadFile(path);
  std::uint64_t number = 0;
  if (!ParseNumber(std::string_view(text).substr(0, text.find('\n')), number)) return {};
  return number;
} catch (const Error&) {  // not for this user
  return {};
}

std::string NameIn(const fs::path& folder) try {
  const auto text = ReadFile(folder / "name");
  return text.substr(0, text.find('\n'));
} catch (const Error&) {
  return {};
}

std::vector<fs::path> ZonesIn(const fs::path& root) {
  std::vector<fs::path> zones;
  std::error_code error;
  fs::directory_iterator entry(root, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) zones.push_back(entry->path());
  std::ranges::sort(zones);
  return zones;
}

/// Another place is for tests.
fs::path PowercapRoot() {
  const char* root = std::getenv("SLIPWAY_POWERCAP");
  return root != nullptr ? root : "/sys/class/powercap";
}

std::vector<MeasuredDevice> EarlierDevices(const fs::path& file) try {
  const auto text = ReadFileIfPresent(file);
  if (!text) return {};
  const auto document = ParseDocument(*text, kEnergySchema, {"energy.json"});
  return ReadFields<std::vector<MeasuredDevice>>(document.at("devices"), {"energy.json"});
} catch (const std::exception&) {  // damaged: counted anew
  return {};
}

}  // namespace

EnergyMeter::EnergyMeter(const fs::path& root) {
  constexpr std::string_view kPackage = "intel-rapl:";
  for (const auto& zone : ZonesIn(root)) {
    const auto number = zone.filename().string();
    const bool is_top = number.starts_with(kPackage) && number.find(':', kPackage.size()) == number.npos;
    const auto name = is_top ? NameIn(zone) : std::string();
    if (!name.starts_with("package")) continue;  // psys holds the packages, too
    AddCounter(zone, name);
    for (const auto& part : ZonesIn(zone)) {
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
  for (const auto& counter : counters_) devices.push_back({HostName(), counter.device, counter.joules});
  return devices;
}

EnergyRecorder::EnergyRecorder(EventLoop& loop, fs::path file)
    : loop_(loop), file_(std::move(file)), meter_(PowercapRoot()) {
  if (meter_.empty()) return;
  before_ = EarlierDevices(file_);
  Continue();
}

EnergyRecorder::~EnergyRecorder() {
  if (!timer_) return;
  loop_.Cancel(*timer_);
  meter_.Sample();
  Write();
}

void EnergyRecorder::Continue() {
  timer_ = loop_.After(kTimeBetweenSamples, [this] {
    meter_.Sample();
    Write();
    Continue();
  });
}

/// The run matters more than a file that cannot be written.
void EnergyRecorder::Write() try {
  auto devices = before_;
  for (auto& device : meter_.Devices()) {
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
  double joules = 0;
  for (const auto& device : devices) joules += device.joules;
  const Json document{{"schema", kEnergySchema}, {"joules", joules}, {"devices", WriteFields(devices)}};
  WriteFileAtomically(file_, document.dump(1) + "\n");
} catch (const std::exception& error) {
  log::Warn("the energy is not recorded: {}", error.what());
}

}  // namespace slipway::launcher
