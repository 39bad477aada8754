#include "launcher/ranks/local/node_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

#include "core/files.h"
#include "core/lines.h"
#include "core/text.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRocr = "ROCR_VISIBLE_DEVICES";
/// What selects from the devices that ROCR_VISIBLE_DEVICES leaves: HIP reads the first that is set, OpenCL the last.
constexpr std::array kInside{"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

bool IsBlank(unsigned char c) { return std::isspace(c) != 0; }

bool NamesADevice(const std::string& item) {
  const bool plain = std::ranges::none_of(item, IsBlank);
  return plain && !item.empty() && item.front() != '-' && item != "NoDevFiles";  // Slurm's word for none
}

std::vector<std::string> Items(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    item = std::string(Trim(item));
    if (!NamesADevice(item)) break;
    if (std::ranges::find(items, item) != items.end()) return {};
    items.push_back(item);
  }
  return items;
}

std::vector<std::string> NumbersTo(int count) {
  std::vector<std::string> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

bool MayUse(const fs::path& file) { return ::access(file.c_str(), R_OK | W_OK) == 0; }

/// The names in `folder` that are `prefix` and a number.
std::vector<std::string> Numbered(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    if (name.find_first_not_of("0123456789", prefix.size()) == std::string::npos) names.push_back(name);
  }
  return names;
}

/// The names at these positions. Slurm writes the names themselves into all variables.
std::vector<std::string> Selected(const std::vector<std::string>& names, const std::vector<std::string>& positions) {
  if (positions == names) return names;
  std::vector<std::string> selected;
  for (const auto& position : positions) {
    std::size_t at = 0;
    if (!ParseNumber(position, at) || at >= names.size()) break;
    selected.push_back(names[at]);
  }
  return selected;
}

/// Nothing: ROCR_VISIBLE_DEVICES names no device, so the others count those of the node.
std::optional<NodeDevices> DevicesInsideRocr(const Environment& environment) {
  auto names = Items(environment.Get(kRocr).value_or(""));
  if (names.empty()) return {};
  NodeDevices devices;
  for (const char* variable : kInside) {
    const auto positions = Items(environment.Get(variable).value_or(""));
    if (positions.empty()) continue;
    if (devices.counted.empty()) names = Selected(names, positions);
    devices.counted.emplace_back(variable);
  }
  if (names.empty()) return NodeDevices();
  devices.from = fmt::format("{}={}", kRocr, fmt::join(names, ","));
  devices.lists.push_back({kRocr, std::move(names)});
  return devices;
}

int CountNvidia(const fs::path& root) {
  const auto files = Numbered(root / "dev", "nvidia");
  return static_cast<int>(std::ranges::count_if(files, [&](const auto& name) { return MayUse(root / "dev" / name); }));
}

/// What the kernel draws and computes by: each device has one such file.
int CountRender(const fs::path& root, const std::string& vendor, const std::string& kind) {
  return static_cast<int>(std::ranges::count_if(Numbered(root / "dev/dri", "renderD"), [&](const auto& name) {
    const auto about = root / "sys/class/drm" / name / "device";
    return ReadFileIfPresent(about / "vendor").value_or("").starts_with(vendor) &&
           ReadFileIfPresent(about / "class").value_or("").starts_with(kind) && MayUse(root / "dev/dri" / name);
  }));
}

int CountAmd(const fs::path& root) { return MayUse(root / "dev/kfd") ? CountRender(root, "0x1002", "0x") : 0; }

/// Those for computing; the display of a processor is of another kind.
int CountIntel(const fs::path& root) { return CountRender(root, "0x8086", "0x0380"); }

}  // namespace

NodeDevices NodeDevices::Part(int first, int count) const {
  NodeDevices part{{}, from, counted};
  for (const auto& list : lists) {
    const auto size = static_cast<int>(list.names.size());
    const auto begin = list.names.begin() + std::min(first, size);
    part.lists.push_back({list.variable, {begin, list.names.begin() + std::min(first + count, size)}});
  }
  return part;
}

NodeDevices NodeDevices::Called(const std::vector<std::string>& wanted) const {
  NodeDevices part{{}, from, counted};
  for (const auto& list : lists) {
    DeviceList some{list.variable, {}};
    for (std::size_t i = 0; i < list.names.size(); ++i) {
      if (std::ranges::find(wanted, lists.front().names[i]) != wanted.end()) some.names.push_back(list.names[i]);
    }
    part.lists.push_back(std::move(some));
  }
  return part;
}

DeviceVariables VariablesFor(const NodeDevices& devices) {
  DeviceVariables variables;
  for (const auto& list : devices.lists) {
    variables.emplace_back(list.variable, fmt::format("{}", fmt::join(list.names, ",")));
  }
  for (const auto& variable : devices.counted) {
    variables.emplace_back(variable, fmt::format("{}", fmt::join(NumbersTo(devices.count()), ",")));
  }
  return variables;
}

std::vector<DeviceVariables> ShareOut(const NodeDevices& devices, int ranks) {
  const int share = devices.count() / std::max(1, ranks);
  std::vector<DeviceVariables> shares;
  for (int rank = 0; share > 0 && rank < ranks; ++rank) {
    shares.push_back(VariablesFor(devices.Part(rank * share, share)));
  }
  return shares;
}

NodeDevices DevicesNamedIn(const Environment& environment, DeviceNumbers numbers) {
  if (numbers == DeviceNumbers::kInsideRocr) {
    if (auto inside = DevicesInsideRocr(environment)) return *inside;
  }
  NodeDevices devices;
  for (const char* variable : kDeviceVariables) {
    auto names = Items(environment.Get(variable).value_or(""));
    if (!names.empty()) devices.lists.push_back({variable, std::move(names)});
  }
  std::size_t shortest = devices.lists.empty() ? 0 : devices.lists.front().names.size();
  for (const auto& list : devices.lists) shortest = std::min(shortest, list.names.size());
  for (auto& list : devices.lists) list.names.resize(shortest);
  if (shortest > 0)
    devices.from = fmt::format("{}={}", devices.lists.front().variable, fmt::join(devices.names(), ","));
  return devices;
}

DeviceNumbers DeviceNumbersOfSystem(const fs::path& root) {
  const bool is_amd = fs::exists(root / "dev/kfd") && Numbered(root / "dev", "nvidia").empty();
  return is_amd ? DeviceNumbers::kInsideRocr : DeviceNumbers::kOfNode;
}

NodeDevices DevicesOfSystem(const fs::path& root) {
  if (const int count = CountNvidia(root)) return {{{"CUDA_VISIBLE_DEVICES", NumbersTo(count)}}, "/dev/nvidia*"};
  if (const int count = CountAmd(root)) return {{{kRocr, NumbersTo(count)}}, "/dev/dri, AMD"};
  if (const int count = CountIntel(root)) return {{{"ZE_AFFINITY_MASK", NumbersTo(count)}}, "/dev/dri, Intel"};
  return {};
}

bool NamesDevices(const Environment& environment) {
  return std::ranges::any_of(kDeviceVariables, [&](const auto& name) { return environment.Get(name).has_value(); });
}

NodeDevices DevicesOfThisNode() {
  const auto environment = Environment::Inherited();
  return NamesDevices(environment) ? DevicesNamedIn(environment, DeviceNumbersOfSystem()) : DevicesOfSystem();
}

std::string Describe(const NodeDevices& devices) {
  return devices.count() == 0 ? "none" : fmt::format("{} ({})", devices.count(), devices.from);
}

}  // namespace slipway::launcher
