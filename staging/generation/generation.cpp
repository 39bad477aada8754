#include "staging/generation/generation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lock_holders.h"
#include "staging/dataset/journal.h"
#include "staging/dataset/manifest.h"
#include "staging/generation/await_lock.h"
#include "staging/generation/owner.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kEvicted = ".evicted";

void Rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    ThrowErrno(fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
  }
}

/// Not over anything. File systems without RENAME_NOREPLACE (NFS) refuse a directory that is not empty by themselves.
void RenameToNew(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) return Rename(from, to);
  ThrowErrno(fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
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
  return AwaitLock(StageLock(), on_wait);
}

std::optional<std::string> Generation::WhoStages() const {
  if (FileLock::TryLook(StageLock())) return WhoWorksIn(Private());
  const auto holders = HoldersOf(StageLock());
  return holders.empty() ? WhoWorksIn(Private()).value_or(Describe(holders)) : Describe(holders);
}

FileLock Generation::Lease() const { return FileLock::Acquire(LeaseLock(), LockMode::kShared); }

std::optional<FileLock> Generation::TryLockUsers() const {
  return FileLock::TryAcquire(LeaseLock(), LockMode::kExclusive);
}

bool Generation::Evict() const {
  auto condemned = Private();
  condemned += kEvicted;
  RemoveTree(condemned);
  if (::rename(Published().c_str(), condemned.c_str()) != 0) {
    if (errno == ENOENT) return false;
    ThrowErrno(fmt::format("cannot rename '{}' to '{}'", Published().string(), condemned.string()));
  }
  RemoveTree(condemned);
  return true;
}

void Generation::Publish() const {
  RenameToNew(Private(), Published());
  SyncDirectory(root_);
}

void Generation::Withdraw() const noexcept { ::rename(Published().c_str(), Private().c_str()); }

bool IsGenerationName(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.size() < kDigits + 2 || name.starts_with('.') || name[name.size() - kDigits - 1] != '-') return false;
  return name.find_first_not_of("0123456789abcdef", name.size() - kDigits) == name.npos;
}

std::vector<std::string> GenerationsIn(const fs::path& root) {
  auto names = NamesIn(root);
  std::erase_if(names, [&](const std::string& name) {
    return !IsGenerationName(name) || !IsRegularFile(root / name / kManifestName);
  });
  return names;
}

std::vector<std::string> StagingsIn(const fs::path& root) {
  auto names = NamesIn(root / ".staging");
  std::erase_if(
      names, [&](const std::string& name) { return !IsGenerationName(name) || !Generation(root, name).WhoStages(); });
  return names;
}

namespace {

/// A look holds the stage lock for a moment, on a busy machine for longer. It is shared with other looks; a process at
/// work has the lock alone, for as long as it takes.
std::optional<FileLock> LockBetweenLooks(const Generation& generation) {
  constexpr int kAttempts = 10;
  constexpr int kAttemptsBesideLooks = 500;
  for (int attempt = 1;; ++attempt) {
    auto lock = generation.TryLockForStaging();
    if (lock) return lock;
    const bool only_looks = FileLock::TryLook(generation.StageLock()).has_value();
    if (attempt >= (only_looks ? kAttemptsBesideLooks : kAttempts)) return {};
    SystemClock().Sleep(std::chrono::milliseconds(10));
  }
}

enum class Mark { kCounts, kGoes };

/// The mark is looked at and removed while no process can set it: that needs a lease.
Removal RemovePublished(const fs::path& root, const std::string& generation, Mark mark) {
  std::error_code error;
  if (fs::symlink_status(root / generation, error).type() == fs::file_type::not_found) return Removal::kNotThere;
  const Generation condemned(root, generation);
  condemned.Prepare();
  const auto lock = LockBetweenLooks(condemned);
  const auto unused = lock ? condemned.TryLockUsers() : std::nullopt;
  if (!unused) return Removal::kInUse;
  if (mark == Mark::kCounts && IsKept(root, generation)) return Removal::kKept;
  ::unlink(condemned.KeepMark().c_str());  // first: a later generation of this name must not find it
  return condemned.Evict() ? Removal::kRemoved : Removal::kNotThere;
}

}  // namespace

Removal RemoveGeneration(const fs::path& root, const std::string& generation) {
  return RemovePublished(root, generation, Mark::kCounts);
}

Removal EvictGeneration(const fs::path& root, const std::string& generation) {
  return RemovePublished(root, generation, Mark::kGoes);
}

void MarkKept(const fs::path& root, const std::string& generation) {
  WriteFile(Generation(root, generation).KeepMark(), "");
}

bool IsKept(const fs::path& root, const std::string& generation) {
  return Exists(Generation(root, generation).KeepMark());
}

std::string GenerationOf(std::string entry) {
  if (entry.ends_with(kEvicted)) entry.resize(entry.size() - kEvicted.size());
  return entry;
}

namespace {

/// The time of the last write: the journal is appended to while a staging is at work.
fs::file_time_type LastWrite(const fs::path& leftover) {
  std::error_code error;
  const auto journal = fs::last_write_time(leftover / kJournalName, error);
  if (!error) return journal;
  const auto directory = fs::last_write_time(leftover, error);
  return error ? fs::file_time_type::min() : directory;
}

/// "train-0123456789abcdef.stream-3"
bool IsStream(std::string_view name) {
  const auto at = name.rfind(kStreamSuffix);
  return at != name.npos && name.find_first_not_of("0123456789", at + kStreamSuffix.size()) == name.npos;
}

/// The removal of a generation, or a stream, is never resumed; a staging may be while it is young.
bool IsOlder(const fs::path& leftover, std::chrono::seconds age) {
  const auto name = leftover.filename().string();
  if (name.ends_with(kEvicted) || IsStream(name)) return true;
  return age.count() == 0 || LastWrite(leftover) < fs::file_time_type::clock::now() - age;
}

/// False when a process is at work there.
bool RemoveUnused(const fs::path& root, const std::string& entry) {
  const Generation generation(root, GenerationOf(entry));
  generation.Prepare();
  const auto lock = LockBetweenLooks(generation);
  const auto path = root / ".staging" / entry;
  if (!lock || WhoWorksIn(path)) return false;
  RemoveTree(path);
  return true;
}

}  // namespace

std::vector<std::string> RemoveLeftovers(const fs::path& root, std::chrono::seconds age, std::string_view except) {
  std::vector<std::string> removed;
  for (const auto& entry : NamesIn(root / ".staging")) {
    if (entry == except || !IsOlder(root / ".staging" / entry, age)) continue;
    if (RemoveUnused(root, entry)) removed.push_back(entry);
  }
  return removed;
}

void RemoveLeftover(const fs::path& root, const std::string& generation) {
  if (fs::exists(root / ".staging" / generation)) RemoveUnused(root, generation);
}

SpaceNeed LeftoversIn(const fs::path& root) {
  SpaceNeed sum;
  for (const auto& entry : NamesIn(root / ".staging")) {
    if (Generation(root, GenerationOf(entry)).WhoStages()) continue;
    const auto taken = TakenBy(root / ".staging" / entry);
    sum.bytes.count += taken.bytes.count;
    sum.inodes += taken.inodes;
  }
  return sum;
}

}  // namespace slipway::staging
