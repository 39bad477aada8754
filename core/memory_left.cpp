#include "core/memory_left.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/control_groups.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/text.h"

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

std::optional<std::uint64_t> NumberIn(const fs::path& file) {
  const auto text = ReadFileIfPresent(file);
  return text ? ParseNumber<std::uint64_t>(Trim(*text)) : std::nullopt;
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

std::uint64_t LeftInAll(const MemorySources& sources) {
  constexpr std::uint64_t kKib = 1024;
  const auto available = NumberOfLine(sources.meminfo, "MemAvailable:");
  auto left = available ? *available * kKib : kNoLimit;
  for (const auto& group : ControlGroupsOf("memory", {sources.membership, sources.cgroups})) {
    const bool first = group.version == ControlGroup::Version::kFirst;
    left = std::min(left, LeftInGroup(group.folder, first ? kVersion1 : kVersion2));
  }
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
