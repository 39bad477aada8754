/// The journal of a generation that is being staged: <root>/.staging/<generation>/.journal. It lists what has arrived.
/// So a run after kill -9 continues where the last one stopped, and a reader can begin before the end.
///
/// Form: lines of text, appended only. A line ends in " " and the CRC32C of the text before it. The first torn or wrong
///       line and all lines after it are ignored. Numbers are decimal, CRCs 8 hex digits.
/// - `slipway.journal/1 <CRC32C of the plan's files> <number of files>`: first line, and again when a run takes over.
///   What was listed as done before is then checked again.
/// - `start <file> <ctime of the source, ns>`: blocks of this file listed before no longer count.
/// - `block <file> <block> <crc>`: written; 4 MiB, the last one of a file shorter.
/// - `done <file> <records or -> <crc,crc,...> <offsets or -> <end>`: all bytes are written and checked. Offsets are
///   first and then differences: "1,2,3".
///
/// <file> is the place in the plan's list, the same as in the manifest's. The journal is removed when the generation is
/// published: a reader that no longer finds it looks for the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace slipway::staging {

inline constexpr std::string_view kJournalName = ".journal";

struct JournalHead {
  std::uint32_t plan_crc = 0;
  std::uint64_t files = 0;
  bool operator==(const JournalHead&) const = default;
};

struct JournalStart {
  std::uint64_t file = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const JournalStart&) const = default;
};

struct JournalBlock {
  std::uint64_t file = 0;
  std::uint64_t block = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const JournalBlock&) const = default;
};

struct JournalDone {
  std::uint64_t file = 0;
  std::optional<std::uint64_t> records;
  std::vector<std::uint32_t> crc32c;
  std::vector<std::uint64_t> offsets;  ///< of every record, ascending; empty where the format has none
  std::uint64_t end = 0;               ///< of the last record; of a compressed file in what it inflates to
  bool operator==(const JournalDone&) const = default;
};

using JournalEntry = std::variant<JournalHead, JournalStart, JournalBlock, JournalDone>;

/// One line, with its newline.
std::string RenderJournalEntry(const JournalEntry& entry);
/// `line` without its newline. Nothing when it is torn, damaged or unknown.
std::optional<JournalEntry> ParseJournalEntry(std::string_view line);

/// Appends from many threads. Entries of small files are gathered: a kill loses at most those of the last 20 ms.
class JournalWriter {
 public:
  /// Keeps the first `keep` bytes of the file and continues after them, with `head`.
  JournalWriter(std::filesystem::path path, const JournalHead& head, std::uint64_t keep = 0);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Errors: SystemError, ENOSPC among them.
  void Append(const JournalEntry& entry);
  void Flush();

 private:
  void WriteOut();

  const std::filesystem::path path_;
  UniqueFd fd_;
  std::mutex mutex_;
  std::string waiting_;
  SteadyTime written_{};
};

/// Reads what has been appended, as often as wanted. A writer that cuts off a torn line meanwhile does no harm.
class JournalReader {
 public:
  explicit JournalReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// The entries since the last call; none when nothing whole has come. Stops for good at a damaged line.
  /// Errors: SystemError; a journal that is not there (yet, or no more) has no entries.
  std::vector<JournalEntry> Next();
  /// The bytes of all whole entries so far.
  std::uint64_t consumed() const { return consumed_; }
  bool damaged() const { return damaged_; }

 private:
  const std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t consumed_ = 0;
  bool damaged_ = false;
};

}  // namespace slipway::staging
