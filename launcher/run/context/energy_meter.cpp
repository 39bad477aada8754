#include "launcher/run/context/energy_meter.h"

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/process_identity.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr double kJoulesOfMicrojoule = 1e-6;

std::optional<std::uint64_t> NumberIn(const fs::path& path) try {
  return ParseNumber<std::uint64_t>(FirstLine(ReadFile(path)));
} catch (const Error&) {  // not for this user
  return {};
}

std::string NameIn(const fs::path& folder) try {
  return std::string(FirstLine(ReadFile(folder / "name")));
} catch (const Error&) {
  return {};
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

}  // namespace slipway::launcher
