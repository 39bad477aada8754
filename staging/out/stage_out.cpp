#include "staging/out/stage_out.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/bandwidth.h"
#include "staging/copy/copy.h"
#include "staging/copy/medium.h"
#include "staging/out/private_place.h"
#include "staging/out/tree.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// A link to one is none.
bool IsPlainDirectory(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsWithinOne(const fs::path& name, const std::vector<fs::path>& directories) {
  return std::ranges::any_of(directories, [&](const fs::path& directory) { return BeginsWith(name, directory); });
}

/// The outermost directories of the tree in whose place `destination` has something else.
std::vector<fs::path> ReplacedDirectories(const Tree& tree, const fs::path& destination) {
  std::vector<fs::path> replaced;
  for (const auto& name : tree.directories) {
    if (IsWithinOne(name, replaced)) continue;
    if (IsThere(destination / name) && !IsPlainDirectory(destination / name)) replaced.push_back(name);
  }
  return replaced;
}

/// Size and time are those of the source: it came from here before.
bool LooksUnchanged(const SourceFile& file, const fs::path& copy) {
  struct stat info {};
  if (::lstat(copy.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return Bytes{static_cast<std::uint64_t>(info.st_size)} == file.size &&
         info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec == file.mtime_ns;
}

/// False also for what cannot be read: copying it will tell.
bool HasSameContents(const fs::path& file, const fs::path& copy,
                     const std::function<void(std::uint64_t bytes)>& on_piece) try {
  MediumReader original(file);
  MediumReader other(copy);
  while (true) {
    const auto here = original.Next();
    const auto there = other.Next();
    if (here.size() != there.size()) return false;
    if (here.empty()) return true;
    if (std::memcmp(here.data(), there.data(), here.size()) != 0) return false;
    on_piece(here.size());
  }
} catch (const SystemError&) {
  return false;
}

/// renameat2(2). Errors: Error(kEnvironment) when `to` is in the way, or when the file system cannot exchange two
/// names; SystemError.
void Rename(const fs::path& from, const fs::path& to, unsigned flags) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return;
  const int code = errno;
  if (code == EEXIST) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is there already", to.string()), "name another destination");
  }
  if (flags == RENAME_EXCHANGE && (code == EINVAL || code == ENOSYS)) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("'{}' is there already, and this file system cannot exchange two names in one step", to.string()),
        "move the older one away, then start again");
  }
  errno = code;
  ThrowErrno(fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
}

/// The old one, if any, is under the name of the new one afterwards.
void MoveOver(const fs::path& from, const fs::path& to) {
  Rename(from, to, IsPlainDirectory(to) ? RENAME_EXCHANGE : 0);
}

/// Removes from the list `tree` the files that `destination` has already. `on_compared` receives the number of bytes
/// read for it, and may throw.
///
/// Cost: with Unchanged::kContents one read of both sides, past the page cache where the file systems have it.
void LeaveOutUnchanged(Tree& tree, const fs::path& destination, Unchanged by,
                       const std::function<void(const SourceFile&, std::uint64_t bytes)>& on_compared) {
  const auto replaced = ReplacedDirectories(tree, destination);
  std::erase_if(tree.files, [&](const SourceFile& file) {
    const auto copy = destination / file.name;
    if (IsWithinOne(file.name, replaced) || !LooksUnchanged(file, copy)) return false;
    return by == Unchanged::kSizeAndTime ||
           HasSameContents(file.path, copy, [&](std::uint64_t bytes) { on_compared(file, bytes); });
  });
  tree.total = {};
  for (const auto& file : tree.files) tree.total.count += file.size.count;
}

/// Moves every name of the tree from `prepared` to `destination`. What is of another kind there (a directory in the
/// place of a file, a link in that of a directory) changes places with the new one. Errors: those of Rename.
void Merge(const Tree& tree, const fs::path& prepared, const fs::path& destination) {
  const auto replaced = ReplacedDirectories(tree, destination);
  const auto move = [&](const fs::path& name) {
    if (!IsWithinOne(name, replaced)) MoveOver(prepared / name, destination / name);
  };
  for (const auto& name : replaced) Rename(prepared / name, destination / name, RENAME_EXCHANGE);
  for (const auto& name : tree.directories) MakeDirectories(destination / name);
  for (const auto& file : tree.files) move(file.name);
  for (const auto& link : tree.links) move(link.name);
  for (const auto& name : tree.directories) SyncDirectory(destination / name);
  SyncDirectory(destination);
}

/// Names with a slash at their end name the directory before it.
fs::path Absolute(const fs::path& path) {
  const auto normal = fs::absolute(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

std::string ContextOf(const fs::path& source) { return fmt::format("while staging out '{}'", source.string()); }

/// Since it was listed; also when it is gone.
bool HasChanged(const SourceFile& file) try {
  CheckUnchanged(file, StatSource(file.path.native()));
  return false;
} catch (const Error&) {
  return true;
}

/// The progress of the work, reported to the caller's callback.
class Course {
 public:
  Course(const fs::path& destination, const StageOutOptions& options) : destination_(destination), options_(options) {}

  void Enter(OutPhase phase, Bytes total) {
    now_ = {phase, {}, total, {}};
    Tell();
  }

  /// Wraps to a step back when a file is started once more.
  void Advance(const fs::path& current, std::uint64_t bytes) {
    now_.done.count += bytes;
    now_.current = current.string();
    Tell();
  }

 private:
  void Tell() const {
    if (options_.cancelled && options_.cancelled()) {
      throw Error(ErrorKind::kInterrupted, fmt::format("staging out to '{}' was cancelled", destination_.string()));
    }
    if (options_.progress) options_.progress(now_);
  }

  const fs::path& destination_;
  const StageOutOptions& options_;
  OutProgress now_;
};

class Work {
 public:
  Work(Tree& tree, const fs::path& prepared, const StageOutOptions& options, Course& course)
      : tree_(tree),
        prepared_(prepared),
        options_(options),
        course_(course),
        limits_(options.bytes_per_second.value_or(Bytes{})) {}

  /// A confirmed and synced copy of the tree in `prepared`. What is skipped is taken out of the tree.
  std::vector<OutFile> Prepare() {
    CheckSpace();
    MakeDirectories(prepared_);
    for (const auto& name : tree_.directories) MakeDirectories(prepared_ / name);
    for (const auto& link : tree_.links) MakeLink(link);
    course_.Enter(OutPhase::kCopy, tree_.total);
    const auto copied = CopyFiles();
    SyncTree();
    course_.Enter(OutPhase::kConfirm, tree_.total);
    std::vector<OutFile> files;
    for (std::size_t i = 0; i < copied.size(); ++i) files.push_back(Confirm(tree_.files[i], copied[i]));
    if (options_.accept) options_.accept(files);
    return files;
  }

 private:
  std::vector<CopiedFile> CopyFiles() {
    FileCopier copier(prepared_, copy_, limits_);
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

  void CheckSpace() const {
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
    auto copied =
        copier.Copy(file, 0, [&](std::uint64_t done) { course_.Advance(file.name, done - std::exchange(last, done)); });
    KeepTraits(file, destination);
    Sync(destination);
    return copied;
  }

  /// Afterwards a read comes from the medium.
  static void Sync(const fs::path& destination) {
    const auto fd = OpenFile(destination, O_RDONLY);
    SyncFile(fd.get(), destination);
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  static timespec TimeOf(std::int64_t nanoseconds) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const auto seconds = nanoseconds / kSecond - (nanoseconds % kSecond < 0);
    return {seconds, nanoseconds - seconds * kSecond};
  }

  static void KeepTraits(const SourceFile& file, const fs::path& destination) {
    struct stat info {};
    if (::stat(file.path.native().c_str(), &info) != 0) ThrowErrno(fmt::format("cannot find '{}'", file.path.string()));
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
      course_.Advance(file.name, done - std::exchange(last, done));
    });
    return {file.name, file.size, crc};
  }

  Tree& tree_;
  const fs::path& prepared_;
  const StageOutOptions& options_;
  Course& course_;
  const CopyOptions copy_{.format = DataFormat::kRaw,
                          .verify = VerifyMode::kOff};  // compared afterwards, past the page cache
  CopyLimits limits_;
};

Bytes SizeOf(const std::vector<OutFile>& files) {
  Bytes total;
  for (const auto& file : files) total.count += file.size.count;
  return total;
}

/// File systems without RENAME_NOREPLACE (some network ones): rename(2) replaces only an empty directory.
void RenameNew(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) return Rename(from, to, 0);
  Rename(from, to, RENAME_NOREPLACE);
}

void Publish(const Tree& tree, const fs::path& prepared, const fs::path& destination, Existing existing) {
  if (!IsThere(destination)) {
    RenameNew(prepared, destination);
  } else if (existing == Existing::kMerge) {
    Merge(tree, prepared, destination);
  } else {
    Rename(prepared, destination, RENAME_EXCHANGE);
  }
  SyncDirectory(destination.parent_path());
}

void CheckPlaces(const fs::path& source, const fs::path& destination, Existing existing) {
  if (LiesWithin(destination, source) || LiesWithin(source, destination)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' and '{}' lie one within the other", source.string(), destination.string()),
                "name another destination");
  }
  if (existing == Existing::kRefuse && IsThere(destination)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is there already", destination.string()),
                "name another destination");
  }
}

Tree TreeToCopy(const fs::path& source, const fs::path& destination, const StageOutOptions& options) {
  CheckPlaces(source, destination, options.existing);
  auto tree = ListTree(source, options.skips);
  if (options.unsuitable == Unsuitable::kRefuse && !tree.refused.empty()) throw ErrorOf(tree.refused);
  if (options.existing != Existing::kMerge) return tree;
  Course course(destination, options);
  if (options.unchanged == Unchanged::kContents) course.Enter(OutPhase::kCompare, tree.total);
  LeaveOutUnchanged(tree, destination, options.unchanged,
                    [&](const SourceFile& file, std::uint64_t bytes) { course.Advance(file.name, bytes); });
  return tree;
}

}  // namespace

StagedOut StageOutDirectory(const fs::path& from, const fs::path& to, const StageOutOptions& options) {
  const auto source = Absolute(from);
  const auto destination = Absolute(to);
  return WithContext(ContextOf(source), [&] {
    const auto started = SystemClock().Steady();
    auto tree = TreeToCopy(source, destination, options);
    MakeDirectories(destination.parent_path());
    RemoveOutLeftovers(destination.parent_path());
    const auto place = PrivatePlace::TryTakeFor(destination);
    if (!place) {
      throw Error(ErrorKind::kBusy, fmt::format("another process is staging out to '{}'", destination.string()),
                  "wait for it");
    }
    RemoveTree(place->directory());
    Course course(destination, options);
    StagedOut result;
    result.files = Work(tree, place->directory(), options, course).Prepare();
    Publish(tree, place->directory(), destination, options.existing);
    result.refused = std::move(tree.refused);
    result.bytes = SizeOf(result.files);
    result.elapsed = SystemClock().Steady() - started;
    return result;
  });
}

OutWork WorkOf(const fs::path& from, const fs::path& to, const StageOutOptions& options) {
  const auto source = Absolute(from);
  return WithContext(ContextOf(source), [&] {
    auto tree = TreeToCopy(source, Absolute(to), options);
    return OutWork{tree.files.size(), tree.total, std::move(tree.refused)};
  });
}

}  // namespace slipway::staging
