#include "staging/copy/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/formats/positioned_io.h"
#include "staging/plan/source_stat.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

using Piece = std::span<const std::byte>;

/// At most `buffer`; fewer bytes only at the end of the file. `path` is for the message.
template <class Path>
Piece ReadPiece(int fd, std::span<std::byte> buffer, std::uint64_t offset, const Path& path) {
  const auto read = TryReadAt(fd, offset, buffer);
  if (read.error != 0) throw SystemError(read.error, fmt::format("cannot read '{}'", fs::path(path).string()));
  return buffer.first(read.bytes);
}

bool IsZero(Piece piece) {
  return piece.empty() ||
         (piece[0] == std::byte{0} && std::memcmp(piece.data(), piece.data() + 1, piece.size() - 1) == 0);
}

/// O_NONBLOCK: a fifo that took the file's place must not hang the copy.
UniqueFd OpenSource(const SourcePath& path) {
  UniqueFd fd(::open(path.native().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) ThrowErrno(fmt::format("cannot open '{}' for reading", path.string()));
  return fd;
}

[[noreturn]] void ThrowEndedEarly(const SourceFile& source, std::uint64_t at) {
  CheckUnchanged(source, StatSource(source.path.native()));
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' ended after {} of {} bytes", source.path.string(), at, source.size.count),
              "its file system gives less than it promises: copy the file again there");
}

}  // namespace

/// What the files of one thread have in common.
struct FileCopier::Tools {
  fs::path directory;
  const CopyOptions& options;
  CopyLimits& limits;
  UniqueFd directory_fd = {};
  dev_t device = 0;
  bool in_memory = false;
  bool may_clone = true;       // until the file system says no
  bool may_copy_range = true;  // the same
  PieceBuffer buffer = {};
};

/// One file, once from its beginning to its end.
class FileCopier::Pass {
 public:
  Pass(Tools& tools, const SourceFile& source, std::size_t index, const SourceState& state, int input,
       const OnBlock& on_block)
      : tools_(tools),
        source_(source),
        index_(index),
        state_(state),
        on_block_(on_block),
        input_(input),
        path_(tools.directory.native() + '/' + source.name.string()),
        check_(MakeCheck()) {}

  CopiedFile Run() {
    const auto* kept = Kept();
    if (tools_.directory_fd) OpenOutput(kept != nullptr);
    if (kept != nullptr && kept->complete && AllKept(*kept)) {
      auto copied = *kept->complete;
      copied.kept = source_.size;
      return copied;
    }
    if (IsNews(kept) && arrivals() != nullptr) arrivals()->FileStarted(index_, state_.ctime_ns);
    if (kept != nullptr && kept->found == FoundBasis::kFormat) {
      if (auto copied = TakenByItsFormat()) return *std::move(copied);
      kept = nullptr;
    }
    CopiedFile copied;
    for (std::uint64_t block = 0; block < Blocks(); ++block) copied.crc32c.push_back(TakeBlock(block, kept));
    Conclude(copied);
    return copied;
  }

 private:
  std::unique_ptr<StreamCheck> MakeCheck() const {
    const bool names_file = tools_.options.format != DataFormat::kRaw && tools_.options.verify != VerifyMode::kOff;
    return MakeStreamCheck(tools_.options.format, tools_.options.verify,
                           names_file ? fs::path(source_.path) : fs::path());
  }
  Arrivals* arrivals() const { return tools_.options.arrivals; }
  std::uint64_t Blocks() const { return CrcBlocksOf(source_.size); }
  std::uint64_t EndOf(std::uint64_t block) const { return std::min((block + 1) * kCrcBlock, source_.size.count); }
  std::span<std::byte> Buffer(std::uint64_t most) const {
    return tools_.buffer.bytes().first(static_cast<std::size_t>(std::min<std::uint64_t>(most, kCopyBlock)));
  }

  /// Nothing of it stands in the journal.
  static bool IsNews(const KeptFile* kept) { return kept == nullptr || kept->found; }

  void Conclude(CopiedFile& copied) {
    auto summary = check_->Finish();
    copied.kept = kept_;
    if (!mended_.empty()) copied.mended = SharedText(mended_);
    copied.records = summary.records;
    copied.record_offsets = std::move(summary.record_offsets);
    copied.record_bytes = summary.record_bytes;
  }

  /// Nothing when the found file fails its own sums or the count of its records. The check then starts again from the
  /// beginning.
  std::optional<CopiedFile> TakenByItsFormat() try {
    CopiedFile copied;
    for (std::uint64_t block = 0; block < Blocks(); ++block) {
      crc_ = 0;
      CheckCopy(block);
      copied.crc32c.push_back(crc_);
    }
    kept_ = source_.size;
    Conclude(copied);
    if (source_.records && copied.records != source_.records) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("it has {} records, its manifest says {}", copied.records.value_or(0), *source_.records),
                  "copy it again");
    }
    return copied;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kEnvironment) throw;
    kept_ = {};
    mended_ = error.message();
    holds_other_bytes_ = true;
    check_ = MakeCheck();
    return {};
  }

  /// What is known of the blocks that are there, unless the source changed since.
  const KeptFile* Kept() const {
    const auto& kept = tools_.options.kept;
    const bool counts =
        index_ < kept.size() && !kept[index_].crc32c.empty() && kept[index_].ctime_ns == state_.ctime_ns;
    return counts ? &kept[index_] : nullptr;
  }

  void OpenOutput(bool keep) {
    const auto open = [&](int more) {
      return UniqueFd(
          ::openat(tools_.directory_fd.get(), source_.name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | more, kFileMode));
    };
    output_ = open(keep ? O_NOFOLLOW : O_EXCL);
    if (!output_ && !keep && errno == EEXIST) {
      // A new file: a rank that begins early may have mapped the old one, and must not find it cut.
      ::unlinkat(tools_.directory_fd.get(), source_.name.c_str(), 0);
      output_ = open(O_EXCL);
    }
    if (!output_) ThrowErrno(fmt::format("cannot create '{}'", path_));
    if (source_.size.count >= kCopyBlock) Prepare(keep);
  }

  /// What pays only for files of some size.
  void Prepare(bool keep) {
    struct stat info {};
    CheckErrno(::fstat(input_, &info), "cannot stat a source");
    sparse_ = static_cast<std::uint64_t>(info.st_blocks) * 512 < source_.size.count;
    by_kernel_ = info.st_dev == tools_.device && !tools_.in_memory;
    if (by_kernel_ && !keep && Clone()) return;
    if (sparse_) by_kernel_ = false;  // copy_file_range would write the holes out
    const auto size = static_cast<off_t>(source_.size.count);
    CheckErrno(::ftruncate(output_.get(), size), fmt::format("cannot extend '{}'", path_));
    if (!sparse_ && !tools_.in_memory) Allocate(output_.get(), source_.size, path_);
  }

  bool Clone() {
    if (!tools_.may_clone) return false;
    cloned_ = ::ioctl(output_.get(), FICLONE, input_) == 0;
    tools_.may_clone = cloned_;
    return cloned_;
  }

  bool AllKept(const KeptFile& kept) {
    if (!output_) return false;
    for (std::uint64_t block = 0; block < Blocks(); ++block) {
      if (!IsThere(block, NotedCrc(block, kept))) return false;
      on_block_(EndOf(block));
    }
    return true;
  }

  /// Whether the copy has the block as it was noted. The block is always read. After a kill the page cache still has
  /// what was written, but after a power cut only the disk knows. Reading the tier costs less than reading the source.
  bool IsThere(std::uint64_t block, std::optional<std::uint32_t> noted) {
    if (!output_ || !noted) return false;
    std::uint32_t crc = 0;
    return ReadCopy(block, [&](Piece piece) { crc = Crc32c(piece, crc); }) && crc == *noted;
  }

  std::optional<std::uint32_t> NotedCrc(std::uint64_t block, const KeptFile& kept) {
    if (kept.found == FoundBasis::kSource) return CrcOfSource(block);
    return block < kept.crc32c.size() ? kept.crc32c[block] : std::nullopt;
  }

  std::uint32_t CrcOfSource(std::uint64_t block) {
    std::uint32_t crc = 0;
    ReadSource(block, [&](Piece piece) { crc = Crc32c(piece, crc); });
    return crc;
  }

  /// False when the copy ends before the block does.
  template <class Use>
  bool ReadCopy(std::uint64_t block, const Use& use) {
    for (auto at = block * kCrcBlock; at < EndOf(block);) {
      const auto wanted = Buffer(EndOf(block) - at);
      const auto piece = ReadPiece(output_.get(), wanted, at, path_);
      if (piece.size() < wanted.size()) return false;
      use(piece);
      at += piece.size();
    }
    return true;
  }

  std::uint32_t TakeBlock(std::uint64_t block, const KeptFile* kept) {
    crc_ = 0;
    const auto noted = kept != nullptr ? NotedCrc(block, *kept) : std::nullopt;
    if (IsThere(block, noted)) {
      CheckCopy(block);
      kept_.count += EndOf(block) - block * kCrcBlock;
      if (kept->found) Tell(block);
      return crc_;
    }
    holds_other_bytes_ = holds_other_bytes_ || noted.has_value();
    if (noted && kept->found && mended_.empty()) mended_ = Difference(block, *kept->found);
    if (by_kernel_ && (cloned_ || CopyRange(block))) {
      CheckCopy(block);
    } else {
      CopyPieces(block);
    }
    Tell(block);
    return crc_;
  }

  static std::string Difference(std::uint64_t block, FoundBasis basis) {
    return fmt::format("its bytes from {} on differ from {}", block * kCrcBlock,
                       basis == FoundBasis::kSource ? "its source" : "its manifest (CRC32C)");
  }

  void Tell(std::uint64_t block) {
    if (arrivals() != nullptr && Blocks() > 1) arrivals()->BlockDone(index_, block, crc_);
  }

  /// The stream goes on with what lies in the copy.
  void CheckCopy(std::uint64_t block) {
    auto at = block * kCrcBlock;
    if (!ReadCopy(block, [&](Piece piece) { Check(piece, at); })) ThrowBecameShorter();
  }

  [[noreturn]] void ThrowBecameShorter() const {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' became shorter", path_),
                "see what changes it, then stage the dataset again");
  }

  void Check(Piece piece, std::uint64_t& at) {
    crc_ = Crc32cCombine(crc_, check_->Update(piece), piece.size());
    at += piece.size();
    on_block_(at);
  }

  /// False when this cannot be done here.
  bool CopyRange(std::uint64_t block) {
    if (!tools_.may_copy_range) return false;
    auto from = static_cast<off_t>(block * kCrcBlock);
    auto to = from;
    const auto end = static_cast<off_t>(EndOf(block));
    Pay(static_cast<std::uint64_t>(end - from), block * kCrcBlock);
    while (from < end) {
      const auto count = ::copy_file_range(input_, &from, output_.get(), &to, static_cast<std::size_t>(end - from), 0);
      if (count > 0 || (count < 0 && errno == EINTR)) continue;
      if (count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO)) {
        ThrowErrno(fmt::format("cannot copy '{}'", source_.path.string()));
      }
      tools_.may_copy_range = false;  // 0: this file system cannot, or the source was cut. Reading finds out
      return false;
    }
    return true;
  }

  template <class Use>
  void ReadSource(std::uint64_t block, const Use& use) {
    for (auto at = block * kCrcBlock; at < EndOf(block);) {
      const auto wanted = Buffer(EndOf(block) - at);
      Pay(wanted.size(), at);
      const auto piece = ReadPiece(input_, wanted, at, source_.path);
      if (piece.size() < wanted.size()) ThrowEndedEarly(source_, at + piece.size());
      use(piece);
      at += piece.size();
    }
  }

  void CopyPieces(std::uint64_t block) {
    auto at = block * kCrcBlock;
    ReadSource(block, [&](Piece piece) {
      if (output_ && !(sparse_ && !holds_other_bytes_ && IsZero(piece))) Write(piece, at);
      Check(piece, at);
    });
  }

  void Write(Piece piece, std::uint64_t at) {
    if (tools_.in_memory) tools_.limits.memory.Take(Bytes{piece.size()}, kCopiesInMemory);
    WriteAt(output_.get(), piece, at, path_);
  }

  void Pay(std::uint64_t bytes, std::uint64_t done) {
    tools_.limits.bandwidth.Take(Bytes{bytes}, [&] { on_block_(done); });
  }

  Tools& tools_;
  const SourceFile& source_;
  const std::size_t index_;
  const SourceState& state_;
  const OnBlock& on_block_;
  const int input_;
  const std::string path_;
  std::unique_ptr<StreamCheck> check_;
  UniqueFd output_;
  bool sparse_ = false;
  bool by_kernel_ = false;
  bool cloned_ = false;
  std::uint32_t crc_ = 0;  // of the present block
  Bytes kept_;
  bool holds_other_bytes_ = false;  // where it is not written it is no hole
  std::string mended_;
};

FileCopier::FileCopier(fs::path directory, const CopyOptions& options, CopyLimits& limits)
    : tools_(new Tools{std::move(directory), options, limits}) {
  if (tools_->directory.empty()) return;
  tools_->directory_fd = OpenFile(tools_->directory, O_RDONLY | O_DIRECTORY);
  struct stat info {};
  CheckErrno(::fstat(tools_->directory_fd.get(), &info), "cannot stat the private directory");
  tools_->device = info.st_dev;
  tools_->in_memory = LivesInMemory(tools_->directory);
}

FileCopier::~FileCopier() = default;

CopiedFile FileCopier::Copy(const SourceFile& source, std::size_t index, const OnBlock& on_block) {
  constexpr int kAttempts = 2;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const auto input = OpenSource(source.path);
    const auto before = StatSettledSource(input.get(), source.path, [&] { on_block(0); });
    CheckUnchanged(source, before);
    Pass pass(*tools_, source, index, before, input.get(), on_block);
    auto copied = CheckedRun(pass, source);
    // It may be fit still when only the ctime moved: permissions, links, times that were set back after a write, or
    // another file under its name. The open file tells all of these, and asking it spares the walk along the path.
    if (StatSource(input.get(), source.path) != before) continue;
    if (tools_->options.arrivals != nullptr) tools_->options.arrivals->FileDone(index, copied);
    return copied;
  }
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", source.path.string()),
              "start again when nothing writes to it any more");
}

/// A damaged file may only look so because a program is writing to it: that is the better message.
CopiedFile FileCopier::CheckedRun(Pass& pass, const SourceFile& source) {
  try {
    return pass.Run();
  } catch (const SystemError&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kEnvironment) CheckUnchanged(source, StatSource(source.path.native()));
    throw;
  }
}

}  // namespace slipway::staging
