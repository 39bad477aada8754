#include "core/process_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/boot_id.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/lines.h"

namespace slipway {

namespace {

struct StatFields {
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t start_time = 0;

  bool Ended() const { return state == 'Z' || state == 'X'; }
};

/// Fields 3, 4, 5 and 22 of /proc/PID/stat; the command in field 2 may hold anything, so count from the last ')'.
std::optional<StatFields> ReadStat(pid_t pid) {
  const UniqueFd fd(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  char buffer[1024];
  const ssize_t count = ::read(fd.get(), buffer, sizeof buffer - 1);
  if (count <= 0) return {};
  std::string_view text(buffer, static_cast<std::size_t>(count));
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 >= text.size()) return {};
  text.remove_prefix(end_of_name + 2);
  StatFields fields;
  fields.state = text.front();
  for (int field = 3; field < 22; ++field) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return {};
    text.remove_prefix(space + 1);
    if (field + 1 == 4) fields.parent = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
    if (field + 1 == 5) fields.group = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  }
  fields.start_time = std::strtoull(std::string(text.substr(0, text.find(' '))).c_str(), nullptr, 10);
  return fields;
}

}  // namespace

template <class Visitor, MaybeConst<ProcessIdentity> Struct>
void Visit(Visitor& visit, Struct& identity) {
  visit("pid", identity.pid, Presence::kOptional);
  visit("start_time", identity.start_time, Presence::kOptional);
  visit("boot_id", identity.boot_id, Presence::kOptional);
}

ProcessIdentity IdentityOf(pid_t pid) {
  const auto fields = ReadStat(pid);
  return {pid, fields ? fields->start_time : 0, BootId()};
}

pid_t ParentOf(pid_t pid) {
  const auto fields = ReadStat(pid);
  return fields ? fields->parent : 0;
}

bool IsAlive(const ProcessIdentity& identity) {
  if (identity.boot_id != BootId() || identity.start_time == 0) return false;
  const auto fields = ReadStat(static_cast<pid_t>(identity.pid));
  return fields && fields->start_time == identity.start_time && !fields->Ended();
}

void WriteValue(Json& place, const ProcessIdentity& identity) {
  FieldWriter writer(place);
  Visit(writer, identity);
}

void ReadValue(const JsonPlace& place, ProcessIdentity& identity) {
  FieldReader reader(place);
  Visit(reader, identity);
}

Json ToJson(const ProcessIdentity& identity) { return WriteFields(identity); }

ProcessIdentity ProcessIdentityFromJson(const Json& json) { return ReadFields<ProcessIdentity>(json, {"a process"}); }

std::string HostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

bool GroupLives(pid_t group) {
  if (::kill(-group, 0) != 0) return false;
  return std::ranges::any_of(ProcessIds(), [group](pid_t pid) {
    const auto fields = ReadStat(pid);
    return fields && fields->group == group && !fields->Ended();
  });
}

std::vector<pid_t> ProcessIds() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (ParseNumber(entry->path().filename().native(), pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace slipway
