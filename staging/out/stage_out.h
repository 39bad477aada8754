/// Copies a directory back to the shared file system: complete and confirmed, or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "staging/out/tree.h"

namespace slipway::staging {

/// What happens to a destination that exists already.
enum class Existing {
  kRefuse,
  kReplace,  ///< by exchange, in one step
  kMerge     ///< file by file: same names are replaced, others stay; unchanged files are not copied
};

/// How kMerge decides that a file is unchanged since it was copied.
enum class Unchanged {
  kSizeAndTime,
  kContents  ///< and all bytes on both sides: a store into mapped memory need not change the time of its file
};

/// What happens to a file that is written to while it is copied.
enum class Changing {
  kRefuse,
  kSkip  ///< left out, for another time; only with kMerge
};

/// What happens when the tree has entries that cannot be copied: see ListTree.
enum class Unsuitable {
  kRefuse,
  kLeaveOut  ///< the rest is copied, and StagedOut names them
};

enum class OutPhase {
  kCompare,  ///< with Unchanged::kContents; ends before its total when files differ
  kCopy,
  kConfirm
};

struct OutProgress {
  OutPhase phase = OutPhase::kCopy;
  Bytes done;  ///< of this phase
  Bytes total;
  std::string current;
};

struct OutFile {
  std::filesystem::path name;  ///< relative
  Bytes size;
  std::uint32_t crc32c = 0;  ///< of the whole file, read back from the destination
};

struct StageOutOptions {
  Existing existing = Existing::kRefuse;
  Changing changing = Changing::kRefuse;
  Unchanged unchanged = Unchanged::kSizeAndTime;
  Unsuitable unsuitable = Unsuitable::kRefuse;
  std::function<bool(const std::filesystem::path& name)> skips{};  ///< entries of the directory itself: see ListTree
  std::optional<Bytes> bytes_per_second{};                         ///< most that copying may take; none or 0: no limit
  std::function<void(const OutProgress&)> progress{};              ///< after every block; may throw to stop
  std::function<bool()> cancelled{};                               ///< asked after every block
  std::function<void(const std::vector<OutFile>&)> accept{};  ///< sees what was confirmed before it is published; may
                                                              ///< throw to refuse
};

struct StagedOut {
  std::vector<OutFile> files;    ///< that were copied
  std::vector<Refused> refused;  ///< that were left out, with Unsuitable::kLeaveOut
  Bytes bytes;
  Seconds elapsed{};
};

/// Copies the tree `source` to `destination`.
///
/// Way:    into `.tmp-out-NAME` beside the destination, each file synced, read back and compared; directories synced.
///         Then one rename, or an exchange with the older destination. With kMerge one rename for each file.
/// Result: links within the tree stay links; of the modes only execution is kept; times of files are kept.
/// Errors: Error(kEnvironment) naming the file and the reason: changed while it was copied, differs when read back,
///         with Unsuitable::kRefuse also what ListTree refuses. SystemError with ENOSPC or EDQUOT when the destination
///         is full. Error(kBusy) when another process does the same; Error(kInterrupted) when cancelled. After an error
///         the destination is what it was and nothing else is left. With kMerge some files may be new, each of them
///         whole. Leftovers of kill -9 are removed by the next StageOutDirectory beside them.
StagedOut StageOutDirectory(const std::filesystem::path& source, const std::filesystem::path& destination,
                            const StageOutOptions& options = {});

/// Files and bytes that StageOutDirectory would copy now, and what it would leave out. Errors: those of
/// StageOutDirectory that it throws before it copies anything; not those of a full destination.
struct OutWork {
  std::uint64_t files = 0;
  Bytes bytes;
  std::vector<Refused> refused{};  ///< with Unsuitable::kLeaveOut
};
OutWork WorkOf(const std::filesystem::path& source, const std::filesystem::path& destination,
               const StageOutOptions& options = {});

}  // namespace slipway::staging
