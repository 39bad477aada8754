/// Which process it is, beyond its number; which processes there are, and which host this is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace slipway {

class JsonPlace;

/// Tells a process from a later one with the same number.
/// Stored in the trial book and in run folders.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot, field 22 of /proc/PID/stat
  std::string boot_id;           ///< /proc/sys/kernel/random/boot_id

  bool operator==(const ProcessIdentity&) const = default;
};

/// The identity of a live process; start_time is 0 when it is gone.
ProcessIdentity IdentityOf(pid_t pid);
/// True while exactly this process runs on this machine (a zombie counts as ended).
bool IsAlive(const ProcessIdentity& identity);
/// The process that has started it, or has taken it over; 0 when it is gone.
pid_t ParentOf(pid_t pid);
/// True while a member of the process group runs. kill(2) alone would also see zombies, and in a container they may
/// never be reaped. Cost: a look at every process when the group has any member.
bool GroupLives(pid_t group);
/// Fields of documents (core/json_fields.h).
void WriteValue(Json& place, const ProcessIdentity& identity);
void ReadValue(const JsonPlace& place, ProcessIdentity& identity);
Json ToJson(const ProcessIdentity& identity);
/// Errors: DocumentError.
ProcessIdentity ProcessIdentityFromJson(const Json& json);
std::string HostName();

/// The numbers of all, from /proc. Some may have ended since. Empty where /proc cannot be read.
std::vector<pid_t> ProcessIds();

}  // namespace slipway
