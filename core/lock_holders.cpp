#include "core/lock_holders.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace slipway {
namespace {

/// "fe:00:10952930": device numbers in hexadecimal, the inode in decimal.
bool ParseFile(const std::string& text, HeldLock& lock) {
  unsigned long long inode = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%x:%x:%llu%n", &lock.major, &lock.minor, &inode, &end) != 3) return false;
  lock.inode = static_cast<ino_t>(inode);
  return static_cast<std::size_t>(end) == text.size();
}

/// "1: FLOCK  ADVISORY  WRITE 25673 fe:00:10952930 0 EOF"; one that waits has "->" after the number.
std::optional<HeldLock> ParseLine(const std::string& line) {
  std::istringstream words(line);
  std::string number;
  std::string kind;
  std::string obligation;
  std::string mode;
  std::string file;
  HeldLock lock;
  if (!(words >> number >> kind >> obligation >> mode >> lock.pid >> file) || kind != "FLOCK") return {};
  return lock.pid > 0 && ParseFile(file, lock) ? std::optional(lock) : std::nullopt;
}

std::string CommandOf(pid_t pid) {
  std::string name;
  try {
    name = ReadFileIfPresent(fmt::format("/proc/{}/comm", pid)).value_or("");
  } catch (const Error&) {
    return {};  // it has ended meanwhile
  }
  if (name.ends_with('\n')) name.pop_back();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return name;
}

}  // namespace

std::vector<HeldLock> ParseLocks(std::string_view text) {
  std::vector<HeldLock> locks;
  for (const auto& line : LinesOf(text)) {
    if (const auto lock = ParseLine(line)) locks.push_back(*lock);
  }
  return locks;
}

std::vector<LockHolder> HoldersOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  std::set<pid_t> on_device;
  std::set<pid_t> by_inode;
  for (const auto& lock : ParseLocks(ReadFileIfPresent("/proc/locks").value_or(""))) {
    if (lock.inode != info.st_ino) continue;
    by_inode.insert(lock.pid);
    if (lock.major == ::major(info.st_dev) && lock.minor == ::minor(info.st_dev)) on_device.insert(lock.pid);
  }
  // btrfs and overlayfs show other device numbers in stat(2) than in /proc/locks.
  std::vector<LockHolder> holders;
  for (const auto pid : on_device.empty() ? by_inode : on_device) holders.push_back({pid, CommandOf(pid)});
  return holders;
}

std::string Describe(const std::vector<LockHolder>& holders) {
  if (holders.empty()) return "a process that cannot be seen from here";
  std::string text = holders.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < holders.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", holders[i].pid);
    if (!holders[i].command.empty()) text += fmt::format(" ({})", holders[i].command);
  }
  return text;
}

Json ToJson(const std::vector<LockHolder>& holders) {
  Json list = Json::array();
  for (const auto& holder : holders) list.push_back({{"pid", holder.pid}, {"command", holder.command}});
  return list;
}

}  // namespace slipway
