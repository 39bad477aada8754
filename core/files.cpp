#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "core/error.h"
#include "core/text.h"

namespace slipway {
namespace fs = std::filesystem;

void FdTraits::Release(int fd) noexcept {
  const int saved = errno;
  ::close(fd);
  errno = saved;
}

UniqueFd OpenFile(const fs::path& path, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) {
    const bool writing = (flags & O_ACCMODE) != O_RDONLY;
    ThrowErrno(fmt::format("cannot open '{}' for {}", path.string(), writing ? "writing" : "reading"));
  }
  return UniqueFd(fd);
}

namespace {

/// A name in the directory of `path` that no other thread or process uses.
fs::path TemporaryNameFor(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  const auto name = fmt::format(".{}.tmp-{}-{}", path.filename().string(), ::getpid(), counter++);
  return path.parent_path() / name;
}

/// Errors name the file that is to be there, not the temporary one.
UniqueFd OpenTemporary(const fs::path& temporary, const fs::path& path, int flags, mode_t mode) {
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode));
  if (!fd) ThrowErrno(fmt::format("cannot write '{}'", path.string()));
  return fd;
}

void Rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    ThrowErrno(fmt::format("cannot replace '{}'", to.string()));
  }
}

fs::path DirectoryOf(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool IsDirectory(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool IsRegularFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::uint64_t FileBytes(const fs::path& path) {
  struct stat info {};
  CheckErrno(::stat(path.c_str(), &info), fmt::format("cannot look at '{}'", path.string()));
  return static_cast<std::uint64_t>(info.st_size);
}

std::string ReadFile(const fs::path& path) {
  const auto fd = OpenFile(path, O_RDONLY);
  return ReadToEnd(fd.get(), path);
}

std::optional<std::string> ReadFileIfPresent(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    ThrowErrno(fmt::format("cannot open '{}' for reading", path.string()));
  }
  return ReadToEnd(fd.get(), path);
}

std::string ReadToEnd(int fd, const fs::path& name) {
  std::string content;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && info.st_size > 0) content.reserve(static_cast<std::size_t>(info.st_size));
  std::array<std::byte, 1 << 16> buffer;
  ReadPieces(fd, buffer, name, [&](std::span<const std::byte> piece) { content += AsText(piece); });
  return content;
}

void ReadPieces(int fd, std::span<std::byte> buffer, const fs::path& name,
                const std::function<void(std::span<const std::byte>)>& take) {
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ThrowErrno(fmt::format("cannot read '{}'", name.string()));
    if (count == 0) return;
    take(buffer.first(static_cast<std::size_t>(count)));
  }
}

PlaceRead TryReadAt(int fd, std::uint64_t offset, std::span<std::byte> out) {
  PlaceRead read;
  while (read.bytes < out.size()) {
    const auto rest = out.subspan(read.bytes);
    const ssize_t count = ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + read.bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) read.error = errno;
    if (count <= 0) break;
    read.bytes += static_cast<std::size_t>(count);
  }
  return read;
}

std::size_t ReadUpTo(int fd, std::uint64_t offset, std::span<std::byte> out, const fs::path& name) {
  const auto read = TryReadAt(fd, offset, out);
  if (read.error != 0) throw SystemError(read.error, fmt::format("cannot read '{}'", name.string()));
  return read.bytes;
}

void WriteAll(int fd, std::string_view data, const fs::path& name) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ThrowErrno(fmt::format("cannot write '{}'", name.string()));
    data.remove_prefix(static_cast<std::size_t>(count));
  }
}

void WriteFile(const fs::path& path, std::string_view content, mode_t mode) {
  const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  WriteAll(fd.get(), content, path);
}

DurableFile::DurableFile(fs::path path, mode_t mode)
    : path_(std::move(path)),
      temporary_(TemporaryNameFor(path_)),
      fd_(OpenTemporary(temporary_, path_, O_EXCL, mode)) {}

DurableFile::~DurableFile() {
  if (fd_) ::unlink(temporary_.c_str());
}

void DurableFile::Write(std::string_view data) { WriteAll(fd_.get(), data, path_); }

void DurableFile::Commit() {
  SyncFile(fd_.get(), path_);
  Rename(temporary_, path_);
  fd_.Reset();
  SyncDirectory(DirectoryOf(path_));
}

void WriteFileDurably(const fs::path& path, std::string_view content, mode_t mode) {
  DurableFile file(path, mode);
  file.Write(content);
  file.Commit();
}

void WriteFileAtomically(const fs::path& path, std::string_view content, mode_t mode) {
  const auto temporary = TemporaryNameFor(path);
  try {
    WriteAll(OpenTemporary(temporary, path, O_TRUNC, mode).get(), content, path);
    Rename(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void MakeDirectories(const fs::path& path) {
  if (path.empty() || ::mkdir(path.c_str(), kDirectoryMode) == 0) return;
  if (errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    MakeDirectories(path.parent_path());
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return;
  }
  const int code = errno;
  struct stat info {};
  if (code == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return;
  throw SystemError(code == EEXIST ? ENOTDIR : code, fmt::format("cannot create directory '{}'", path.string()));
}

void SyncFile(const std::filesystem::path& path) { SyncFile(OpenFile(path, O_RDONLY).get(), path); }

void SyncFile(int fd, const std::filesystem::path& name) {
  CheckErrno(::fsync(fd), fmt::format("cannot sync '{}'", name.string()));
}

void SyncDirectory(const fs::path& path) { SyncFile(OpenFile(path, O_RDONLY | O_DIRECTORY).get(), path); }

void RemoveTree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw SystemError(error.value(), fmt::format("cannot remove '{}'", path.string()));
}

namespace {

/// The first part of `path` that is a link, or nothing. Only links that lead nowhere are left in a canonical path.
std::optional<fs::path> FirstLinkIn(const fs::path& path) {
  fs::path prefix;
  for (const auto& part : path) {
    prefix /= part;
    if (fs::is_symlink(fs::symlink_status(prefix))) return prefix;
  }
  return {};
}

/// `path` with every link followed, also one whose target does not exist: writing there would create it.
fs::path ResolveLinks(fs::path path) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  for (int links = 0; links < kMaxLinks; ++links) {
    path = fs::weakly_canonical(path);
    if (!path.has_filename()) path = path.parent_path();  // "new/" is "new"
    const auto link = FirstLinkIn(path);
    if (!link) return path;
    path = link->parent_path() / fs::read_symlink(*link) / path.lexically_relative(*link);
  }
  throw fs::filesystem_error("too many links", path, std::make_error_code(std::errc::too_many_symbolic_link_levels));
}

fs::path Resolve(const fs::path& path) {
  try {
    return ResolveLinks(path);
  } catch (const fs::filesystem_error& error) {
    throw SystemError(error.code().value(), fmt::format("cannot resolve '{}'", path.string()));
  }
}

}  // namespace

bool BeginsWith(const fs::path& path, const fs::path& folder) {
  const auto differs = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first;
  return differs == folder.end() || (differs->empty() && std::next(differs) == folder.end());  // empty: a slash ends it
}

bool LiesWithin(const fs::path& path, const fs::path& tree) { return BeginsWith(Resolve(path), Resolve(tree)); }

FileSystemSpace SpaceOf(const fs::path& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) ThrowErrno(fmt::format("cannot ask for the space of '{}'", path.string()));
  return {Bytes{info.f_blocks * info.f_frsize}, Bytes{info.f_bavail * info.f_frsize}, info.f_favail, info.f_files};
}

namespace {

/// False when it would have to wait and may not.
bool Lock(int fd, LockMode mode, bool wait, const fs::path& path) {
  const int operation = (mode == LockMode::kShared ? LOCK_SH : LOCK_EX) | (wait ? 0 : LOCK_NB);
  while (::flock(fd, operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) ThrowErrno(fmt::format("cannot lock '{}'", path.string()));
  }
  return true;
}

/// False when the file was removed, or another one took its name, between opening and locking it.
bool StillHasItsName(int fd, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  CheckErrno(::fstat(fd, &opened), "cannot stat a lock file");
  return ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::optional<UniqueFd> OpenLocked(const fs::path& path, LockMode mode, bool wait) {
  while (true) {
    auto fd = OpenFile(path, O_RDWR | O_CREAT);
    if (!Lock(fd.get(), mode, wait, path)) return {};
    ::futimens(fd.get(), nullptr);  // cleaners of old files go by its age; where times cannot be set they find no more
    if (StillHasItsName(fd.get(), path)) return fd;
  }
}

}  // namespace

std::optional<FileLock> FileLock::TryAcquire(const fs::path& path, LockMode mode) {
  auto fd = OpenLocked(path, mode, false);
  if (!fd) return {};
  return FileLock(std::move(*fd));
}

FileLock FileLock::Acquire(const fs::path& path, LockMode mode) {
  return FileLock(std::move(*OpenLocked(path, mode, true)));
}

std::optional<FileLock> FileLock::TryLook(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return FileLock(UniqueFd());
  if (!fd) ThrowErrno(fmt::format("cannot open '{}'", path.string()));
  if (!Lock(fd.get(), LockMode::kShared, false, path)) return {};
  return FileLock(std::move(fd));
}

void FileLock::Describe(std::string_view holder) {
  if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) ThrowErrno("cannot rewrite a lock file");
  WriteAll(fd_.get(), holder, "lock file");
}

}  // namespace slipway
