#include "staging/out/merge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "staging/copy/medium.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// A link to one is none.
bool IsDirectory(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool LiesBelowOne(const fs::path& name, const std::vector<fs::path>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const fs::path& directory) {
    return std::mismatch(directory.begin(), directory.end(), name.begin(), name.end()).first == directory.end();
  });
}

/// The outermost directories of the tree in whose place `destination` has something else.
std::vector<fs::path> ReplacedDirectories(const Tree& tree, const fs::path& destination) {
  std::vector<fs::path> replaced;
  for (const auto& name : tree.directories) {
    if (LiesBelowOne(name, replaced)) continue;
    if (IsThere(destination / name) && !IsDirectory(destination / name)) replaced.push_back(name);
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

/// The old one, if any, is under the name of the new one afterwards.
void MoveOver(const fs::path& from, const fs::path& to) { Rename(from, to, IsDirectory(to) ? RENAME_EXCHANGE : 0); }

}  // namespace

void LeaveOutUnchanged(Tree& tree, const fs::path& destination, Unchanged by,
                       const std::function<void(const SourceFile&, std::uint64_t bytes)>& on_compared) {
  const auto replaced = ReplacedDirectories(tree, destination);
  std::erase_if(tree.files, [&](const SourceFile& file) {
    const auto copy = destination / file.name;
    if (LiesBelowOne(file.name, replaced) || !LooksUnchanged(file, copy)) return false;
    return by == Unchanged::kSizeAndTime ||
           HasSameContents(file.path, copy, [&](std::uint64_t bytes) { on_compared(file, bytes); });
  });
  tree.total = {};
  for (const auto& file : tree.files) tree.total.count += file.size.count;
}

void Merge(const Tree& tree, const fs::path& prepared, const fs::path& destination) {
  const auto replaced = ReplacedDirectories(tree, destination);
  const auto move = [&](const fs::path& name) {
    if (!LiesBelowOne(name, replaced)) MoveOver(prepared / name, destination / name);
  };
  for (const auto& name : replaced) Rename(prepared / name, destination / name, RENAME_EXCHANGE);
  for (const auto& name : tree.directories) MakeDirectories(destination / name);
  for (const auto& file : tree.files) move(file.name);
  for (const auto& link : tree.links) move(link.name);
  for (const auto& name : tree.directories) SyncDirectory(destination / name);
  SyncDirectory(destination);
}

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

}  // namespace slipway::staging
