#include "staging/out/private_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "core/documents.h"
#include "core/error.h"
#include "core/log.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrivate = ".tmp-out-";
constexpr std::string_view kLock = ".lock";

fs::path LockOf(fs::path directory) { return directory += kLock; }

bool IsSameFile(int fd, const fs::path& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

bool IsMine(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

}  // namespace

PrivatePlace::PrivatePlace(fs::path directory, FileLock lock)
    : directory_(std::move(directory)), lock_(std::move(lock)) {}

PrivatePlace::PrivatePlace(PrivatePlace&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), lock_(std::move(other.lock_)) {}

PrivatePlace::~PrivatePlace() {
  if (directory_.empty()) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
  fs::remove(LockOf(directory_), ignored);
}

std::optional<PrivatePlace> PrivatePlace::TryTakeFor(const fs::path& destination) {
  return TryTake(destination.parent_path() / (std::string(kPrivate) + destination.filename().string()));
}

std::optional<PrivatePlace> PrivatePlace::TryTake(const fs::path& directory) {
  auto lock = FileLock::TryAcquire(LockOf(directory), LockMode::kExclusive);
  // A process that held the lock before may just have removed the lock's name.
  if (!lock || !IsSameFile(lock->fd(), LockOf(directory))) return {};
  return PrivatePlace(directory, std::move(*lock));
}

/// Taken and let go: removed. What cannot be removed (in use on a network file system) waits for the next.
void PrivatePlace::RemoveIfAbandoned(const fs::path& directory) {
  try {
    TryTake(directory);
  } catch (const Error& error) {
    log::Warn("{}", error.what());
  }
}

void RemoveOutLeftovers(const fs::path& parent) {
  std::set<fs::path> found;
  for (const auto& entry : EntriesOf(parent)) {
    auto name = entry.filename().string();
    if (!name.starts_with(kPrivate) || !IsMine(entry)) continue;
    if (name.ends_with(kLock)) name.resize(name.size() - kLock.size());  // of a directory that may be gone already
    found.insert(parent / name);
  }
  for (const auto& directory : found) PrivatePlace::RemoveIfAbandoned(directory);
}

}  // namespace slipway::staging
