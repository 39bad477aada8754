#include "core/memory_left.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/files.h"

namespace slipway {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLooks = 64;  ///< at most, while nobody else takes memory: each reads some twenty files
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The names that one version of control groups gives to its files.
struct GroupFiles {
  const char* limit;
  const char* usage;
  std::array<const char*, 2> cache;  ///< lines of memory.stat: pages of files, which the kernel gives up
};
constexpr GroupFiles kVersion1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", {"inactive_file", "active_file"}};

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  return value;
}

std::optional<std::uint64_t> NumberIn(const fs::path& file) {
  const auto text = ReadFileIfPresent(file);
  return text ? ParseNumber(*text) : std::nullopt;
}

/// The number after the word `key` at the start of a line.
std::optional<std::uint64_t> NumberOfLine(const fs::path& file, std::string_view key) {
  std::istringstream lines(ReadFileIfPresent(file).value_or(""));
  std::string word;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    if (std::uint64_t value = 0; fields >> word >> value && word == key) return value;
  }
  return {};
}

/// "max" and a missing file mean: no limit.
std::uint64_t LeftInGroup(const fs::path& group, const GroupFiles& files) {
  const auto limit = NumberIn(group / files.limit);
  const auto usage = NumberIn(group / files.usage);
  if (!limit || !usage) return kNoLimit;
  std::uint64_t cache = 0;
  for (const auto* line : files.cache) cache += NumberOfLine(group / "memory.stat", line).value_or(0);
  const auto used = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, used);
}

/// A limit may stand at any level: Slurm sets one for the job and one for the step.
std::uint64_t LeftInGroups(const fs::path& mount, fs::path group, const GroupFiles& files) {
  auto left = LeftInGroup(mount, files);
  for (; group.has_relative_path(); group = group.parent_path()) {
    left = std::min(left, LeftInGroup(mount / group.relative_path(), files));
  }
  return left;
}

/// `line` is "4:memory:/a/b" (version 1) or "0::/a/b" (version 2).
std::uint64_t LeftByMembership(const MemorySources& sources, const std::string& line) {
  const auto first = line.find(':');
  const auto second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return kNoLimit;
  const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const fs::path group = line.substr(second + 1);
  if (controllers == ",,") return LeftInGroups(sources.cgroups, group, kVersion2);
  if (controllers.find(",memory,") == std::string::npos) return kNoLimit;
  return LeftInGroups(sources.cgroups / "memory", group, kVersion1);
}

std::uint64_t LeftInAll(const MemorySources& sources) {
  constexpr std::uint64_t kKib = 1024;
  const auto available = NumberOfLine(sources.meminfo, "MemAvailable:");
  auto left = available ? *available * kKib : kNoLimit;
  std::istringstream lines(ReadFileIfPresent(sources.membership).value_or(""));
  for (std::string line; std::getline(lines, line);) left = std::min(left, LeftByMembership(sources, line));
  return left;
}

[[noreturn]] void ThrowMemoryError(Bytes wanted, std::string_view what, std::uint64_t spare) {
  throw MemoryError(ErrorKind::kEnvironment,
                    fmt::format("there is no memory for {}: {} more are needed, {} may still be taken", what,
                                FormatBytes(wanted), FormatBytes(Bytes{spare})),
                    "take less, or give the job more memory: the least of MemAvailable and of what the control groups "
                    "of the job leave counts, less a tenth");
}

}  // namespace

Bytes MemoryLeft(const MemorySources& sources) {
  const auto left = LeftInAll(sources);
  return Bytes{left - left / 10};
}

std::uint64_t MemoryAllowance::Spare() {
  const auto left = LeftInAll(sources_);
  if (!std::exchange(looked_, true)) remains_ = left / 10;
  return left - std::min(left, remains_);
}

void MemoryAllowance::Foresee(Bytes bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (bytes.count <= granted_) return;
  if (const auto spare = Spare(); bytes.count > spare) ThrowMemoryError(bytes, what, spare);
}

void MemoryAllowance::Take(Bytes bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (bytes.count > granted_) {
    const auto spare = Spare();
    if (bytes.count > spare) ThrowMemoryError(bytes, what, spare);
    granted_ = std::clamp(std::max(kStep, spare / kLooks), bytes.count, spare);
  }
  granted_ -= bytes.count;
}

void RequireMemory(Bytes bytes, std::string_view what, const MemorySources& sources) {
  if (bytes.count >= MemoryAllowance::kStep) MemoryAllowance(sources).Foresee(bytes, what);
}

}  // namespace slipway
