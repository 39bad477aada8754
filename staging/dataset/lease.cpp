#include "staging/dataset/lease.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// The lock file of the generation that `path` is or lies in.
std::optional<fs::path> LeaseLockAround(const fs::path& path) {
  std::error_code error;
  for (auto directory = fs::weakly_canonical(path, error); !error && directory.has_relative_path();
       directory = directory.parent_path()) {
    if (!Exists(directory / kManifestName)) continue;
    auto lock = LeaseLockOf(directory.parent_path(), directory.filename().string());
    if (Exists(lock)) return lock;
  }
  return {};
}

/// Who only looks whether a generation is in use holds the lock for a moment.
std::optional<FileLock> LookAgain(const fs::path& lock) {
  constexpr int kAttempts = 50;
  for (int attempt = 1;; ++attempt) {
    auto lease = FileLock::TryLook(lock);
    if (lease || attempt == kAttempts) return lease;
    SystemClock().Sleep(std::chrono::milliseconds(20));
  }
}

}  // namespace

fs::path LeaseLockOf(const fs::path& root, const std::string& generation) {
  return root / ".locks" / (generation + ".lease");
}

Lease TakeLease(const fs::path& path) {
  const auto lock = LeaseLockAround(path);
  if (!lock) return nullptr;
  std::optional<FileLock> lease;
  try {
    lease = LookAgain(*lock);
  } catch (const SystemError&) {
    return nullptr;  // another user's tier: to read there is still allowed
  }
  if (!lease) {
    throw Error(ErrorKind::kBusy,
                fmt::format("'{}' cannot be read: another process is removing this staged copy", path.string()),
                "read the source of the data, or stage it again");
  }
  ::futimens(lease->fd(), nullptr);  // its owner alone may: then the generation counts as used now
  return std::make_shared<const FileLock>(std::move(*lease));
}

std::vector<Lease> TakeLeases(std::span<const fs::path> files) {
  std::set<fs::path> folders;
  for (const auto& file : files) folders.insert(file.parent_path());
  std::vector<Lease> leases;
  for (const auto& folder : folders) {
    if (auto lease = TakeLease(folder)) leases.push_back(std::move(lease));
  }
  return leases;
}

}  // namespace slipway::staging
