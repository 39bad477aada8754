#include "launcher/attempt/out_of_memory.h"

#include <filesystem>

#include "core/clock.h"
#include "core/files.h"
#include "core/lines.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kCountsFor = std::chrono::milliseconds(50);

/// What follows `prefix` on the line that begins with it.
std::optional<std::string_view> RestOfLine(std::string_view text, std::string_view prefix) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (line.starts_with(prefix)) return line.substr(prefix.size());
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

fs::path FindCounter() {
  const auto groups = ReadFileIfPresent("/proc/self/cgroup").value_or("");
  const auto group = ParseControlGroup(groups);
  if (group) {
    const auto events = fs::path("/sys/fs/cgroup" + std::string(*group)) / "memory.events";
    if (Exists(events)) return events;
  }
  return "/proc/vmstat";
}

}  // namespace

std::optional<std::uint64_t> ParseOutOfMemoryKills(std::string_view text) {
  const auto number = RestOfLine(text, "oom_kill ");
  return number ? ParseNumber<std::uint64_t>(*number) : std::nullopt;
}

std::optional<std::string_view> ParseControlGroup(std::string_view text) { return RestOfLine(text, "0::"); }

std::uint64_t OutOfMemoryKills() {
  static const fs::path counter = FindCounter();
  const auto text = ReadFileIfPresent(counter);
  return text ? ParseOutOfMemoryKills(*text).value_or(0) : 0;
}

std::uint64_t OutOfMemoryKillsLately() {
  thread_local std::optional<SteadyTime> looked;
  thread_local std::uint64_t kills = 0;
  const auto now = SystemClock().Steady();
  if (!looked || now - *looked > kCountsFor) {
    kills = OutOfMemoryKills();
    looked = now;
  }
  return kills;
}

}  // namespace slipway::launcher
