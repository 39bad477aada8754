#include "staging/out/stage_out.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "staging/copy/bandwidth.h"
#include "staging/copy/copy.h"
#include "staging/out/read_back.h"
#include "staging/out/tree.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrivate = ".tmp-out-";
constexpr std::string_view kLock = ".lock";

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

bool IsSameFile(int fd, const fs::path& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

/// The private place beside a destination: locked while it is worked on, removed at the end.
class PrivatePlace {
 public:
  static fs::path LockOf(fs::path directory) { return directory += kLock; }

  /// Nothing when another process is at work there.
  static std::optional<PrivatePlace> TryTake(const fs::path& directory) {
    auto lock = FileLock::TryAcquire(LockOf(directory), LockMode::kExclusive);
    // Whoever held it before may just have removed the lock's name.
    if (!lock || !IsSameFile(lock->fd(), LockOf(directory))) return {};
    return PrivatePlace(directory, std::move(*lock));
  }

  PrivatePlace(PrivatePlace&& other) noexcept
      : directory_(std::exchange(other.directory_, {})), lock_(std::move(other.lock_)) {}
  PrivatePlace& operator=(PrivatePlace&&) = delete;
  ~PrivatePlace() {
    if (directory_.empty()) return;
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    fs::remove(LockOf(directory_), ignored);
  }

  const fs::path& directory() const { return directory_; }

 private:
  PrivatePlace(fs::path directory, FileLock lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}
  fs::path directory_;
  FileLock lock_;
};

/// Names with a slash at their end name the directory before it.
fs::path WithoutSlash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

/// Since it was listed; also when it is gone.
bool HasChanged(const SourceFile& file) try {
  CheckUnchanged(file, StatSource(file.path));
  return false;
} catch (const Error&) {
  return true;
}

class Work {
 public:
  Work(Tree& tree, const fs::path& prepared, const StageOutOptions& options)
      : tree_(tree), prepared_(prepared), options_(options), limit_(options.bytes_per_second.value_or(Bytes{})) {}

  /// A confirmed and synced copy of the tree in `prepared`. What is skipped is taken out of the tree.
  std::vector<OutFile> Prepare() {
    CheckRoom();
    MakeDirectories(prepared_);
    for (const auto& name : tree_.directories) MakeDirectories(prepared_ / name);
    for (const auto& link : tree_.links) MakeLink(link);
    const auto copied = CopyFiles();
    SyncTree();
    Enter(OutPhase::kConfirm);
    std::vector<OutFile> files;
    for (std::size_t i = 0; i < copied.size(); ++i) files.push_back(Confirm(tree_.files[i], copied[i]));
    if (options_.accept) options_.accept(files);
    return files;
  }

 private:
  std::vector<CopiedFile> CopyFiles() {
    FileCopier copier(prepared_, copy_, limit_);
    std::vector<CopiedFile> copied;
    std::erase_if(tree_.files, [&](const SourceFile& file) {
      try {
        copied.push_back(Copy(file, copier));
        return false;
      } catch (const Error& error) {
        if (options_.changing == Changing::kRefuse || error.kind() == ErrorKind::kInterrupted || !HasChanged(file)) {
          throw;
        }
      }
      RemoveTree(prepared_ / file.name);
      return true;
    });
    return copied;
  }

  void CheckRoom() const {
    const auto space = SpaceOf(prepared_.parent_path());
    const auto need = NeedOf(tree_.files).bytes;
    if (need <= space.available) return;
    throw SystemError(ENOSPC, fmt::format("'{}' needs {}, {} is available", prepared_.parent_path().string(),
                                          FormatBytes(need), FormatBytes(space.available)));
  }

  void MakeLink(const TreeLink& link) const {
    if (::symlink(link.target.c_str(), (prepared_ / link.name).c_str()) == 0) return;
    ThrowErrno(fmt::format("cannot create '{}'", (prepared_ / link.name).string()));
  }

  CopiedFile Copy(const SourceFile& file, FileCopier& copier) {
    const auto destination = prepared_ / file.name;
    std::uint64_t last = 0;
    auto copied = copier.Copy(file, 0, [&](std::uint64_t done) {
      done_ += done - last;  // wraps to a step back when a file is started once more
      last = done;
      Advance(file.name);
    });
    KeepTraits(file, destination);
    Sync(destination);
    return copied;
  }

  /// Afterwards a read comes from the medium.
  static void Sync(const fs::path& destination) {
    const auto fd = OpenFile(destination, O_RDONLY);
    if (::fsync(fd.get()) != 0) ThrowErrno(fmt::format("cannot sync '{}'", destination.string()));
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  static timespec TimeOf(std::int64_t nanoseconds) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const auto seconds = nanoseconds / kSecond - (nanoseconds % kSecond < 0);
    return {seconds, nanoseconds - seconds * kSecond};
  }

  static void KeepTraits(const SourceFile& file, const fs::path& destination) {
    struct stat info {};
    if (::stat(file.path.c_str(), &info) != 0) ThrowErrno(fmt::format("cannot find '{}'", file.path.string()));
    // The time of the bytes that were copied: a later one would hide a change in between from the next merge.
    const timespec times[2] = {info.st_atim, TimeOf(file.mtime_ns)};
    const auto mode = kFileMode | (info.st_mode & (S_IXUSR | S_IXGRP));
    if (::chmod(destination.c_str(), mode) != 0 || ::utimensat(AT_FDCWD, destination.c_str(), times, 0) != 0) {
      ThrowErrno(fmt::format("cannot set mode and times of '{}'", destination.string()));
    }
  }

  void SyncTree() const {
    for (auto name = tree_.directories.rbegin(); name != tree_.directories.rend(); ++name) {
      SyncDirectory(prepared_ / *name);
    }
    SyncDirectory(prepared_);
  }

  OutFile Confirm(const SourceFile& file, const CopiedFile& copied) {
    std::uint64_t last = 0;
    const auto crc = ReadBack(prepared_ / file.name, file.size, copied.crc32c, [&](std::uint64_t done) {
      done_ += done - last;
      last = done;
      Advance(file.name);
    });
    return {file.name, file.size, crc};
  }

  void Enter(OutPhase phase) {
    phase_ = phase;
    done_ = 0;
    Advance({});
  }

  void Advance(const fs::path& current) {
    if (options_.cancelled && options_.cancelled()) {
      throw Error(ErrorKind::kInterrupted, fmt::format("staging out to '{}' was cancelled", prepared_.string()));
    }
    if (options_.progress) options_.progress({phase_, Bytes{done_}, tree_.total, current.string()});
  }

  Tree& tree_;
  const fs::path& prepared_;
  const StageOutOptions& options_;
  const CopyOptions copy_{.format = DataFormat::kRaw,
                          .verify = VerifyMode::kOff};  // compared afterwards, past the page cache
  BandwidthLimit limit_;
  OutPhase phase_ = OutPhase::kCopy;
  std::uint64_t done_ = 0;
};

Bytes SizeOf(const std::vector<OutFile>& files) {
  Bytes total;
  for (const auto& file : files) total.count += file.size.count;
  return total;
}

void Rename(const fs::path& from, const fs::path& to, unsigned flags) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return;
  const int code = errno;
  if (code == EEXIST) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is there already", to.string()), "name another destination");
  }
  if (flags == RENAME_EXCHANGE && (code == EINVAL || code == ENOSYS)) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is there already, and this file system cannot exchange two directories in one step",
                            to.string()),
                "move the older one away, then start again");
  }
  errno = code;
  ThrowErrno(fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
}

/// File systems without RENAME_NOREPLACE (some network ones): rename(2) replaces only an empty directory.
void RenameNew(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) return Rename(from, to, 0);
  Rename(from, to, RENAME_NOREPLACE);
}

/// Every name of the tree moves over on its own.
void Merge(const Tree& tree, const fs::path& prepared, const fs::path& destination) {
  MakeDirectories(destination);
  for (const auto& name : tree.directories) MakeDirectories(destination / name);
  for (const auto& file : tree.files) Rename(prepared / file.name, destination / file.name, 0);
  for (const auto& link : tree.links) Rename(prepared / link.name, destination / link.name, 0);
  for (const auto& name : tree.directories) SyncDirectory(destination / name);
  SyncDirectory(destination);
}

void Publish(const Tree& tree, const fs::path& prepared, const fs::path& destination, Existing existing) {
  if (!Exists(destination)) {
    RenameNew(prepared, destination);
  } else if (existing == Existing::kMerge) {
    Merge(tree, prepared, destination);
  } else {
    Rename(prepared, destination, RENAME_EXCHANGE);
  }
  SyncDirectory(destination.parent_path());
}

/// Same size and time as the source: it came from here before.
bool IsUnchanged(const SourceFile& file, const fs::path& copy) {
  struct stat info {};
  if (::lstat(copy.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return Bytes{static_cast<std::uint64_t>(info.st_size)} == file.size &&
         info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec == file.mtime_ns;
}

Tree TreeToCopy(const fs::path& source, const fs::path& destination, Existing existing) {
  auto tree = ListTree(source);
  if (existing != Existing::kMerge) return tree;
  std::erase_if(tree.files, [&](const auto& file) { return IsUnchanged(file, destination / file.name); });
  tree.total = {};
  for (const auto& file : tree.files) tree.total.count += file.size.count;
  return tree;
}

void CheckPlaces(const fs::path& source, const fs::path& destination, Existing existing) {
  if (LiesWithin(destination, source) || LiesWithin(source, destination)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' and '{}' lie one within the other", source.string(), destination.string()),
                "name another destination");
  }
  if (existing == Existing::kRefuse && Exists(destination)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is there already", destination.string()),
                "name another destination");
  }
}

}  // namespace

StagedOut StageOutDirectory(const fs::path& from, const fs::path& to, const StageOutOptions& options) {
  const auto source = WithoutSlash(fs::absolute(from).lexically_normal());
  const auto destination = WithoutSlash(fs::absolute(to).lexically_normal());
  return WithContext(fmt::format("while staging out '{}'", source.string()), [&] {
    const auto started = SystemClock().Steady();
    CheckPlaces(source, destination, options.existing);
    auto tree = TreeToCopy(source, destination, options.existing);
    MakeDirectories(destination.parent_path());
    RemoveOutLeftovers(destination.parent_path());
    const auto prepared = destination.parent_path() / (std::string(kPrivate) + destination.filename().string());
    const auto place = PrivatePlace::TryTake(prepared);
    if (!place) {
      throw Error(ErrorKind::kBusy, fmt::format("another process is staging out to '{}'", destination.string()),
                  "wait for it");
    }
    RemoveTree(prepared);
    StagedOut result;
    result.files = Work(tree, place->directory(), options).Prepare();
    Publish(tree, place->directory(), destination, options.existing);
    result.bytes = SizeOf(result.files);
    result.elapsed = SystemClock().Steady() - started;
    return result;
  });
}

namespace {

bool IsMine(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

/// Taken and let go: removed. What cannot be removed (in use by somebody on a network file system) waits for the next.
void RemoveIfAbandoned(const fs::path& directory) {
  try {
    PrivatePlace::TryTake(directory);
  } catch (const Error& error) {
    log::Warn("{}", error.what());
  }
}

}  // namespace

void RemoveOutLeftovers(const fs::path& parent) {
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    auto name = entry->path().filename().string();
    if (!name.starts_with(kPrivate) || !IsMine(entry->path())) continue;
    if (name.ends_with(kLock)) name.resize(name.size() - kLock.size());  // of a directory that may be gone already
    found.insert(parent / name);
  }
  for (const auto& directory : found) RemoveIfAbandoned(directory);
}

OutWork WorkOf(const fs::path& source, const fs::path& destination, Existing existing) {
  const auto tree = TreeToCopy(source, destination, existing);
  return {tree.files.size(), tree.total};
}

}  // namespace slipway::staging
