#include "launcher/run/context/device_recorder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/log.h"
#include "core/process_identity.h"
#include "core/text.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

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

constexpr auto kBetweenEnergyWrites = std::chrono::seconds(30);

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

const std::string& DeviceOf(const MeasuredDevice& device) { return device.device; }
const std::string& DeviceOf(const MeasuredGpu& gpu) { return gpu.gpu; }

void AddLater(MeasuredDevice& sum, MeasuredDevice later) { sum.joules += later.joules; }
void AddLater(MeasuredGpu& sum, MeasuredGpu later) {
  AddEarlier(later, sum);
  sum = std::move(later);
}

/// One record for each device of each host, in the order in which they came. A large run has thousands.
template <class Record>
class Records {
 public:
  explicit Records(std::vector<Record> earlier) {
    for (auto& record : earlier) Add(std::move(record));
  }
  void Add(Record record) {
    const auto [at, is_new] = places_.try_emplace({record.host, DeviceOf(record)}, records_.size());
    is_new ? records_.push_back(std::move(record)) : AddLater(records_[at->second], std::move(record));
  }
  void Add(const std::vector<Record>& records) {
    for (const auto& record : records) Add(record);
  }
  const std::vector<Record>& all() const { return records_; }

 private:
  std::vector<Record> records_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

/// A line later than two in a row is one too late.
GpuPatience PatienceFor(std::chrono::seconds between_lines) {
  GpuPatience patience;
  patience.next = 2 * between_lines + std::chrono::seconds(10);
  patience.first = std::max(patience.first, patience.next);
  return patience;
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

DeviceRecorder::DeviceRecorder(EventLoop& loop, DeviceFiles files, DevicesToMeasure devices,
                               const GpuWatch::Report& report)
    : loop_(loop),
      files_(std::move(files)),
      meter_(devices.processors ? std::optional<EnergyMeter>(PowercapRoot()) : std::nullopt),
      gpus_(loop, devices.gpus, report),
      between_gpu_writes_(BetweenGpuLines(static_cast<int>(devices.nodes.size()))),
      nodes_(loop, std::move(devices.nodes), report, PatienceFor(between_gpu_writes_)),
      energy_written_(SystemClock().Steady()),
      gpus_written_(energy_written_) {
  const bool has_processors = meter_ && !meter_->empty();
  if (!has_processors && devices.gpus.names.empty() && nodes_.empty()) return;
  energy_before_ = Earlier(ReadEnergyRecord, files_.energy);
  gpus_before_ = Earlier(ReadGpuRecord, files_.gpus);
  Continue();
}

DeviceRecorder::~DeviceRecorder() {
  if (!timer_) return;
  loop_.Cancel(*timer_);
  gpus_.Finish();
  nodes_.Finish();
  SampleAndWriteEnergy();
  WriteGpus();
}

void DeviceRecorder::Continue() {
  timer_ = loop_.After(between_gpu_writes_, [this] {
    WriteIfDue();
    Continue();
  });
}

void DeviceRecorder::WriteIfDue() {
  const auto now = SystemClock().Steady();
  if (now - energy_written_ >= kBetweenEnergyWrites) SampleAndWriteEnergy();
  if (now - gpus_written_ >= between_gpu_writes_) WriteGpus();
}

/// The run matters more than a file that cannot be written.
void DeviceRecorder::SampleAndWriteEnergy() try {
  energy_written_ = SystemClock().Steady();
  Records<MeasuredDevice> devices(energy_before_);
  if (meter_) {
    meter_->Sample();
    devices.Add(meter_->Devices());
  }
  devices.Add(gpus_.sums().energies);
  devices.Add(nodes_.sums().energies);
  if (!devices.all().empty()) WriteEnergyRecord(files_.energy, devices.all());
} catch (const std::exception& error) {
  log::Warn("the energy is not recorded: {}", error.what());
}

void DeviceRecorder::WriteGpus() try {
  gpus_written_ = SystemClock().Steady();
  Records<MeasuredGpu> gpus(gpus_before_);
  gpus.Add(gpus_.sums().uses);
  gpus.Add(nodes_.sums().uses);
  if (!gpus.all().empty()) WriteGpuRecord(files_.gpus, gpus.all());
} catch (const std::exception& error) {
  log::Warn("memory and utilisation of GPUs are not recorded: {}", error.what());
}

}  // namespace slipway::launcher
