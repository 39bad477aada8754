/// Copies files and checks them on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/memory_left.h"
#include "core/units.h"
#include "staging/copy/bandwidth.h"
#include "staging/copy/piece_buffer.h"
#include "staging/dataset/manifest.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// What MemoryError names where copies lie in RAM.
inline constexpr const char* kCopiesInMemory = "the staged files in RAM";

struct CopiedFile {
  std::vector<std::uint32_t> crc32c;  ///< one for each kCrcBlock bytes
  std::optional<std::uint64_t> records;
  std::vector<std::uint64_t> record_offsets = {};  ///< of every record's header (TFRecord), else empty
  std::uint64_t record_bytes = 0;                  ///< where the last record ends: of compressed files, inflated
  Bytes kept = {};                                 ///< bytes that were there already and undamaged
  SharedText mended = {};                          ///< why a found file was not taken as it was; empty: it was
};

/// How a file that a batch system has put into the private directory is checked.
enum class FoundBasis {
  kNoted,   ///< CRCs of its blocks in a manifest beside the source
  kSource,  ///< no manifest: each block is compared with the source's
  kFormat   ///< the file's own sums say whether it is undamaged
};

/// What is known of a file in the private directory. For a file that an interrupted run began: what that run noted. For
/// a found file: what it is compared with.
struct KeptFile {
  std::int64_t ctime_ns = 0;                         ///< of the source when these blocks were read from it
  std::vector<std::optional<std::uint32_t>> crc32c;  ///< of each block; nothing for one that was not written or noted
  std::optional<CopiedFile> complete = {};           ///< the whole file, checked
  std::optional<FoundBasis> found = {};              ///< it comes from a batch system; nothing: from an earlier run
};

/// Receives reports of what has arrived in the private directory, from any thread. `file` is an index into plan.files.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  /// Earlier reports about blocks of this file no longer count.
  virtual void FileStarted(std::size_t file, std::int64_t source_ctime_ns) = 0;
  /// kCrcBlock bytes (the last block may be shorter) are written.
  virtual void BlockDone(std::size_t file, std::uint64_t block, std::uint32_t crc32c) = 0;
  /// All bytes are written and checked, and the source is the one that was started with.
  virtual void FileDone(std::size_t file, const CopiedFile& copied) = 0;
};

struct CopyOptions {
  DataFormat format = DataFormat::kRaw;
  VerifyMode verify = VerifyMode::kFormat;
  std::vector<KeptFile> kept = {};  ///< by index into plan.files; empty: nothing is kept
  Arrivals* arrivals = nullptr;
  MemorySources memory = {};  ///< looked at while copies are written into RAM, so that they never fill it
};

/// What the copiers of one staging share.
struct CopyLimits {
  /// `per_second`: bytes read from the sources; 0: no limit.
  explicit CopyLimits(Bytes per_second, MemorySources sources = {})
      : bandwidth(per_second), memory(std::move(sources)) {}

  BandwidthLimit bandwidth;
  MemoryAllowance memory;
};

/// Called after every piece, and while a limit is waited for, with the bytes of this file done so far. May throw to
/// stop.
using OnBlock = std::function<void(std::uint64_t done)>;

/// Copies files one after the other; one for each copying thread. Memory: kCopyBlock, whatever the files' sizes.
///
/// How:  pieces of kCopyBlock, checked while they are in the second-level cache. If source and copy are in one file
///       system the kernel copies (FICLONE, else copy_file_range); then the copy is read and checked. Pieces of zeros
///       of a sparse source are left out.
class FileCopier {
 public:
  /// With an empty `directory` files are only read and checked. `options` and `limits` must outlive the copier.
  FileCopier(std::filesystem::path directory, const CopyOptions& options, CopyLimits& limits);
  FileCopier(const FileCopier&) = delete;
  FileCopier& operator=(const FileCopier&) = delete;
  ~FileCopier();

  /// `index`: the file's place in the plan. For a file in CopyOptions::kept only the missing blocks are read from the
  /// source. Kept blocks are read in the copy and compared. Damaged blocks of a found file are written again. A found
  /// file that only its own sums can check is written again as a whole when they fail.
  ///
  /// Result: the bytes are those of the planned file, in one state. A change during the copy restarts it once; a
  ///         changed size, mtime or inode ends it.
  /// Errors: Error(kEnvironment) naming the file: changed, or damaged (StreamCheck). MemoryError: the copies lie in
  ///         RAM, and other processes have taken what the plan counted on.
  CopiedFile Copy(const SourceFile& source, std::size_t index, const OnBlock& on_block);

 private:
  class Pass;
  struct Tools;
  static CopiedFile CheckedRun(Pass& pass, const SourceFile& source);
  std::unique_ptr<Tools> tools_;
};

}  // namespace slipway::staging
