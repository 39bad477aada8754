#include "core/control_groups.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <sstream>
#include <string>

#include "core/files.h"

namespace slipway {
namespace fs = std::filesystem;
namespace {

/// A group outside of the process's namespace is "/../x": only the root is shown at the mount.
void AddLevels(const fs::path& mount, fs::path group, ControlGroup::Version version, std::vector<ControlGroup>& all) {
  all.push_back({mount, version});
  if (std::ranges::find(group, "..") != group.end()) return;
  for (; group.has_relative_path(); group = group.parent_path())
    all.push_back({mount / group.relative_path(), version});
}

/// `line` is "4:memory:/a/b" (version 1) or "0::/a/b" (version 2).
void AddGroupsOfLine(const std::string& line, std::string_view controller, const fs::path& mount,
                     std::vector<ControlGroup>& all) {
  const auto first = line.find(':');
  const auto second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return;
  const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const fs::path group = line.substr(second + 1);
  if (controllers == ",,") return AddLevels(mount, group, ControlGroup::Version::kSecond, all);
  if (controllers.find("," + std::string(controller) + ",") == std::string::npos) return;
  AddLevels(mount / controller, group, ControlGroup::Version::kFirst, all);
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// cpu.max is "150000 100000" or "max 100000"; version 1 has a file for each number, and -1 without a limit. A group
/// that cannot be read has none: those above it still count.
double QuotaOf(const ControlGroup& group) try {
  const auto read = [&](const char* file) { return ReadFileIfPresent(group.folder / file).value_or(""); };
  std::istringstream text(group.version == ControlGroup::Version::kSecond
                              ? read("cpu.max")
                              : read("cpu.cfs_quota_us") + " " + read("cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  return text >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoQuota;
} catch (const std::exception&) {
  return kNoQuota;
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const ControlGroupPaths& paths) {
  std::vector<ControlGroup> all;
  std::istringstream lines(ReadFileIfPresent(paths.membership).value_or(""));
  for (std::string line; std::getline(lines, line);) AddGroupsOfLine(line, controller, paths.mount, all);
  return all;
}

double ProcessorQuota(const ControlGroupPaths& paths) noexcept try {
  double quota = kNoQuota;
  for (const auto& group : ControlGroupsOf("cpu", paths)) quota = std::min(quota, QuotaOf(group));
  return quota;
} catch (const std::exception&) {
  return kNoQuota;
}

}  // namespace slipway
