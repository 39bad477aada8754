#include "staging/generation/generation.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "core/clock.h"
#include "core/error.h"
#include "staging/dataset/manifest.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kEvicted = ".evicted";
constexpr auto kLockPause = std::chrono::milliseconds(20);

void Rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    ThrowErrno(fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
  }
}

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw SystemError(error.value(), fmt::format("cannot read directory '{}'", directory.string()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Generation::Generation(fs::path root, std::string name) : root_(std::move(root)), name_(std::move(name)) {}

fs::path Generation::LockPath(const char* kind) const { return root_ / ".locks" / (name_ + kind); }

void Generation::Prepare() const {
  MakeDirectories(root_ / ".staging");
  MakeDirectories(root_ / ".locks");
}

std::optional<FileLock> Generation::TryLockForStaging() const {
  return FileLock::TryAcquire(StageLock(), LockMode::kExclusive);
}

FileLock Generation::LockForStaging(const std::function<void()>& on_wait) const {
  while (true) {
    if (auto lock = TryLockForStaging()) return std::move(*lock);
    on_wait();
    SystemClock().Sleep(kLockPause);
  }
}

FileLock Generation::Lease() const {
  auto lock = FileLock::Acquire(LeaseLock(), LockMode::kShared);
  ::futimens(lock.fd(), nullptr);  // "last used" for people; a file system that refuses it costs nothing else
  return lock;
}

bool Generation::Evict() const {
  const auto unused = FileLock::TryAcquire(LeaseLock(), LockMode::kExclusive);
  if (!unused) return false;
  auto condemned = Private();
  condemned += kEvicted;
  RemoveTree(condemned);
  Rename(Published(), condemned);
  RemoveTree(condemned);
  return true;
}

void Generation::Publish() const {
  Rename(Private(), Published());
  SyncDirectory(root_);
}

std::vector<std::string> GenerationsIn(const fs::path& root) {
  auto names = NamesIn(root);
  std::erase_if(names, [&](const std::string& name) {
    std::error_code error;
    return name.starts_with('.') || !fs::is_regular_file(root / name / kManifestName, error);
  });
  return names;
}

bool RemoveGeneration(const fs::path& root, const std::string& generation) {
  if (!fs::exists(root / generation)) return false;
  const Generation condemned(root, generation);
  condemned.Prepare();
  const auto lock = condemned.TryLockForStaging();
  return lock && condemned.Evict();
}

std::vector<std::string> RemoveLeftovers(const fs::path& root) {
  std::vector<std::string> removed;
  for (const auto& entry : NamesIn(root / ".staging")) {
    auto generation = entry;
    if (generation.ends_with(kEvicted)) generation.resize(generation.size() - kEvicted.size());
    const auto lock = Generation(root, generation).TryLockForStaging();
    if (!lock) continue;
    RemoveTree(root / ".staging" / entry);
    removed.push_back(entry);
  }
  return removed;
}

}  // namespace slipway::staging
