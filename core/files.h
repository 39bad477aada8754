/// Files that survive a crash, and the small file operations every folder needs.
///
/// Modes: files are created 0640, directories 0750, both reduced by the umask.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "core/units.h"

namespace slipway {

inline constexpr mode_t kFileMode = 0640;
inline constexpr mode_t kDirectoryMode = 0750;

/// open(2) with O_CLOEXEC; throws SystemError naming the path.
UniqueFd OpenFile(const std::filesystem::path& path, int flags, mode_t mode = kFileMode);

/// Links are followed. What cannot be looked at is not there, and is neither of the two.
bool Exists(const std::filesystem::path& path);
bool IsDirectory(const std::filesystem::path& path);
bool IsRegularFile(const std::filesystem::path& path);

/// How long it is, links followed. Errors: SystemError.
std::uint64_t FileBytes(const std::filesystem::path& path);
/// The whole file. Errors: SystemError.
std::string ReadFile(const std::filesystem::path& path);
/// The whole file, or nothing when it does not exist.
std::optional<std::string> ReadFileIfPresent(const std::filesystem::path& path);

/// From where `fd` stands to the end of the file. `name` is for errors: SystemError.
std::string ReadToEnd(int fd, const std::filesystem::path& name);
/// The same in pieces, each read into `buffer`: for files that may be larger than memory.
void ReadPieces(int fd, std::span<std::byte> buffer, const std::filesystem::path& name,
                const std::function<void(std::span<const std::byte>)>& take);

struct PlaceRead {
  std::size_t bytes = 0;  ///< fewer than asked for without an error: the file ends there
  int error = 0;          ///< errno of what ended it; 0: nothing did
};
/// Fills `out` from byte `offset` on, whatever signals come. May be used by several threads on one file.
PlaceRead TryReadAt(int fd, std::uint64_t offset, std::span<std::byte> out);
/// The same; how many bytes, fewer only at the end of the file. Errors: SystemError naming `name`.
std::size_t ReadUpTo(int fd, std::uint64_t offset, std::span<std::byte> out, const std::filesystem::path& name);

/// Writes all of `data`, also when the kernel takes it in parts.
void WriteAll(int fd, std::string_view data, const std::filesystem::path& name);

/// Replaces `path` by `content` in place, without promising durability.
void WriteFile(const std::filesystem::path& path, std::string_view content, mode_t mode = kFileMode);

/// A file that appears under its final name only when it is complete and on the disk. Commit() does it: temporary name
/// in the same directory, fsync, rename, fsync of the directory. Without Commit() nothing remains.
class DurableFile {
 public:
  explicit DurableFile(std::filesystem::path path, mode_t mode = kFileMode);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();

  int fd() const { return fd_.get(); }
  /// Where the content goes until Commit: for libraries that write by name.
  const std::filesystem::path& temporary() const { return temporary_; }
  void Write(std::string_view data);
  void Commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  UniqueFd fd_;
};

/// DurableFile in one call.
void WriteFileDurably(const std::filesystem::path& path, std::string_view content, mode_t mode = kFileMode);
/// Atomic (temporary name and rename) but without fsync: readers never see half a file.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content, mode_t mode = kFileMode);

/// Creates `path` and its parents with mode 0750; an existing directory is fine.
void MakeDirectories(const std::filesystem::path& path);
/// fsync of a file: makes its content durable. Errors: SystemError naming the file.
void SyncFile(const std::filesystem::path& path);
void SyncFile(int fd, const std::filesystem::path& name);
/// fsync of a directory: makes the names in it durable.
void SyncDirectory(const std::filesystem::path& path);
/// Removes a tree; a missing one is fine. Never follows links.
void RemoveTree(const std::filesystem::path& path);

/// Whether `path` is `folder` or continues it, name by name; slashes at the end of `folder` do not count. Looks nothing
/// up: `..` is a name like others, so make paths normal or absolute before where they need it.
bool BeginsWith(const std::filesystem::path& path, const std::filesystem::path& folder);

/// True when `path` lies in `tree` or is it, after resolving `..` and links. Neither needs to exist. A link to a
/// missing target counts as its target. Errors: SystemError for a loop of links or a directory that cannot be read.
bool LiesWithin(const std::filesystem::path& path, const std::filesystem::path& tree);

struct FileSystemSpace {
  Bytes capacity;
  Bytes available;                ///< for an ordinary user
  std::uint64_t free_inodes = 0;  ///< 0 with total_inodes 0 means: no such limit
  std::uint64_t total_inodes = 0;
};
FileSystemSpace SpaceOf(const std::filesystem::path& path);

enum class LockMode { kShared, kExclusive };

/// flock(2) on a lock file, held while this object lives; the kernel drops it on kill -9. The file's times say when it
/// was last taken. Some file systems count locks on each node separately (NFS with nolock, Lustre with localflock).
class FileLock {
 public:
  /// Nothing when another process holds it. Creates the file.
  static std::optional<FileLock> TryAcquire(const std::filesystem::path& path, LockMode mode);
  /// Waits.
  static FileLock Acquire(const std::filesystem::path& path, LockMode mode);
  /// Shared, on a lock file that is there, which stays as it is. Nothing while another holds it exclusively. Where
  /// there is no lock file no process is at work, and nothing is held.
  static std::optional<FileLock> TryLook(const std::filesystem::path& path);

  /// Replaces the text in the lock file (the holder's name); only with kExclusive.
  void Describe(std::string_view holder);
  int fd() const { return fd_.get(); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace slipway
