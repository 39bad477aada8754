#include "core/ownership.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace slipway {
namespace {

std::string GroupName(gid_t group) {
  const auto* entry = ::getgrgid(group);
  return entry != nullptr ? entry->gr_name : std::to_string(group);
}

bool IsTrusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

/// Many systems give each user a group of the same name, and a umask that lets it write.
bool IsOwnersOwnGroup(const struct stat& info) { return GroupName(info.st_gid) == UserName(info.st_uid); }

std::string WhyNotOwn(const struct stat& info) {
  if (!IsTrusted(info.st_uid)) return fmt::format("it belongs to {}", UserName(info.st_uid));
  if (S_ISLNK(info.st_mode)) return {};
  if ((info.st_mode & S_IWOTH) != 0) return "any user can write to it";
  if ((info.st_mode & S_IWGRP) != 0 && !IsOwnersOwnGroup(info)) {
    return fmt::format("the group {} may write to it", GroupName(info.st_gid));
  }
  return {};
}

}  // namespace

std::string UserName(uid_t user) {
  const auto* entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : std::to_string(user);
}

std::string WhyNotOwn(int fd) {
  struct stat info {};
  CheckErrno(::fstat(fd, &info), "cannot look at an open file");
  return WhyNotOwn(info);
}

std::string WhyNotOwn(const std::filesystem::path& path) {
  struct stat info {};
  CheckErrno(::lstat(path.c_str(), &info), fmt::format("cannot look at '{}'", path.string()));
  if (auto why = WhyNotOwn(info); !why.empty() || !S_ISLNK(info.st_mode)) return why;
  CheckErrno(::stat(path.c_str(), &info), fmt::format("cannot look at '{}'", path.string()));
  return WhyNotOwn(info);
}

bool IsPrivateFolder(const std::filesystem::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0777) == 0700;
}

bool IsOpenToAll(const std::filesystem::path& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0;
}

}  // namespace slipway
