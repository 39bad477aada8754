#include "launcher/run_folder/energy_record.h"

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_fields.h"
#include "launcher/run_folder/device_records.h"

namespace slipway::launcher {

template <class Visitor, MaybeConst<MeasuredDevice> Struct>
void Visit(Visitor& visit, Struct& device) {
  visit("host", device.host);
  visit("kind", device.kind, Presence::kOptional);  // earlier files have processors only
  visit("device", device.device);
  visit("joules", device.joules);
}

void WriteValue(Json& place, const MeasuredDevice& device) {
  FieldWriter writer(place);
  Visit(writer, device);
}

void ReadValue(const JsonPlace& place, MeasuredDevice& device) {
  FieldReader reader(place);
  Visit(reader, device);
}

namespace {

constexpr auto kEnergySchema = "slipway.energy/1";

void Add(std::optional<double>& sum, std::optional<double> more) {
  if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

WordTable<DeviceKind> WordsOf(DeviceKind) {
  static constexpr Word<DeviceKind> kWords[] = {{DeviceKind::kCpu, "cpu", "a processor or its memory"},
                                                {DeviceKind::kGpu, "gpu", "a GPU with its memory"}};
  return kWords;
}

std::optional<double> Energy::sum() const {
  auto both = cpu_j;
  Add(both, gpu_j);
  return both;
}

Energy& Energy::operator+=(const Energy& other) {
  Add(cpu_j, other.cpu_j);
  Add(gpu_j, other.gpu_j);
  return *this;
}

Energy SumOf(const std::vector<MeasuredDevice>& devices) {
  Energy energy;
  for (const auto& device : devices) Add(device.kind == DeviceKind::kGpu ? energy.gpu_j : energy.cpu_j, device.joules);
  return energy;
}

std::vector<MeasuredDevice> ReadEnergyRecord(const std::filesystem::path& file) {
  return ReadDeviceRecords<MeasuredDevice>(file, kEnergySchema, "devices");
}

void WriteEnergyRecord(const std::filesystem::path& file, const std::vector<MeasuredDevice>& devices) {
  const auto energy = SumOf(devices);
  const auto number = [](std::optional<double> joules) { return joules ? Json(*joules) : Json(); };
  const Json document{{"schema", kEnergySchema},
                      {"joules", energy.sum().value_or(0)},
                      {"cpu_joules", number(energy.cpu_j)},
                      {"gpu_joules", number(energy.gpu_j)},
                      {"devices", WriteFields(devices)}};
  WriteFileAtomically(file, document.dump(1) + "\n");
}

}  // namespace slipway::launcher
