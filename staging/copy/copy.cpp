#include "staging/copy/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// CRC32C of each kCrcBlock bytes of a stream, whatever the borders of the pieces are.
class BlockCrcs {
 public:
  void Update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kCrcBlock - filled_));
      if (filled_ == 0) crcs_.push_back(0);
      crcs_.back() = Crc32c(piece, crcs_.back());
      filled_ = (filled_ + piece.size()) % kCrcBlock;
      bytes = bytes.subspan(piece.size());
    }
  }
  std::vector<std::uint32_t> Take() { return std::move(crcs_); }

 private:
  std::vector<std::uint32_t> crcs_;
  std::size_t filled_ = 0;
};

/// A file that is read from its beginning to its end.
class SequentialReader {
 public:
  explicit SequentialReader(const fs::path& path)
      // O_NONBLOCK: a fifo that took the file's place must not hang the copy.
      : path_(path), fd_(OpenFile(path, O_RDONLY | O_NONBLOCK)), buffer_(new std::byte[kCopyBlock]) {
    ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  /// The next bytes, at most `limit`; empty at the end.
  std::span<const std::byte> Next(std::uint64_t limit) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(limit, kCopyBlock));
    ssize_t count = 0;
    do {
      count = ::read(fd_.get(), buffer_.get(), wanted);
    } while (count < 0 && errno == EINTR);
    if (count < 0) ThrowErrno(fmt::format("cannot read '{}'", path_.string()));
    return {buffer_.get(), static_cast<std::size_t>(count)};
  }

 private:
  fs::path path_;
  UniqueFd fd_;
  std::unique_ptr<std::byte[]> buffer_;
};

UniqueFd OpenDestination(const fs::path& path) { return path.empty() ? UniqueFd() : OpenFile(path, O_WRONLY); }

void WriteBlock(int fd, std::span<const std::byte> block, const fs::path& name) {
  WriteAll(fd, {reinterpret_cast<const char*>(block.data()), block.size()}, name);
}

std::unique_ptr<StreamCheck> CheckFor(const SourceFile& source, const CopyOptions& options) {
  return MakeStreamCheck(options.verify == VerifyMode::kOff ? DataFormat::kRaw : options.format, source.path);
}

/// The bytes in one pass. A file that became shorter ends the pass early: the caller compares the states.
CopiedFile CopyOnce(const SourceFile& source, const fs::path& destination, const CopyOptions& options,
                    const OnBlock& on_block) {
  SequentialReader reader(source.path);
  const auto output = OpenDestination(destination);
  const auto check = CheckFor(source, options);
  BlockCrcs crcs;
  std::uint64_t done = 0;
  while (done < source.size.count) {
    const auto block = reader.Next(source.size.count - done);
    if (block.empty()) break;
    check->Update(block);
    crcs.Update(block);
    if (output) WriteBlock(output.get(), block, destination);
    done += block.size();
    on_block(done);
  }
  if (done < source.size.count) CheckUnchanged(source, StatSource(source.path));
  auto summary = check->Finish();
  return {crcs.Take(), summary.records, std::move(summary.record_offsets)};
}

/// A damaged file may only look so because somebody is writing to it: that is the better message.
CopiedFile CopyAttempt(const SourceFile& source, const fs::path& destination, const CopyOptions& options,
                       const OnBlock& on_block) {
  try {
    return CopyOnce(source, destination, options, on_block);
  } catch (const SystemError&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kEnvironment) CheckUnchanged(source, StatSource(source.path));
    throw;
  }
}

void CompareCopy(const SourceFile& source, const fs::path& destination, const CopiedFile& copied,
                 const OnBlock& on_block) {
  SequentialReader reader(destination);
  BlockCrcs crcs;
  for (auto block = reader.Next(kCopyBlock); !block.empty(); block = reader.Next(kCopyBlock)) {
    crcs.Update(block);
    on_block(source.size.count);  // no progress, but it may end the work
  }
  if (crcs.Take() == copied.crc32c) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the copy of '{}' read back from '{}' differs from what was written", source.path.string(),
                          destination.parent_path().string()),
              "the medium of this tier is not to be trusted: tell its administrator and use another tier");
}

}  // namespace

void ReserveFile(const fs::path& destination, Bytes size) {
  const auto fd = OpenFile(destination, O_WRONLY | O_CREAT | O_NOFOLLOW);
  if (size.count == 0) return;
  int result = 0;
  do {
    result = ::fallocate(fd.get(), 0, 0, static_cast<off_t>(size.count));
  } while (result != 0 && errno == EINTR);
  // File systems without reservation (NFS before 4.2, Lustre) find out while writing.
  if (result != 0 && errno != EOPNOTSUPP) ThrowErrno(fmt::format("cannot reserve '{}'", destination.string()));
}

CopiedFile CopyVerified(const SourceFile& source, const fs::path& destination, const CopyOptions& options,
                        const OnBlock& on_block) {
  constexpr int kAttempts = 2;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const auto before = StatSource(source.path);
    CheckUnchanged(source, before);
    auto copied = CopyAttempt(source, destination, options, on_block);
    // It may be fit still when only the ctime moved: permissions, links, or times that were set back after a write.
    if (StatSource(source.path) != before) continue;
    if (options.verify == VerifyMode::kFull && !destination.empty()) CompareCopy(source, destination, copied, on_block);
    return copied;
  }
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", source.path.string()),
              "start again when nothing writes to it any more");
}

}  // namespace slipway::staging
