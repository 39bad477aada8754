/// The state of a stream: a small mapped file shared by one stager and the readers of a node. It says what is present
/// and what is wanted. It lies beside the files, as `.stream`, mode 0600.
/// - header, 64 bytes: magic, number of files, of slots, seed, status, two bells
/// - slots, 64 bytes each: a reader's position, and what it waits for or works with
/// - files, 4 bytes each: whether the file is present
///
/// A reader owns its slot by a lock on the slot's first byte (open file description lock). The kernel drops the lock
/// when the process ends. A slot without a lock does not count, whatever it says. Bells are futexes: they count
/// changes. A *use* is a file at a place of an epoch's order: use number = epoch * files + place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace slipway::staging {

inline constexpr std::string_view kStreamStateName = ".stream";
/// Beside it: `<number>` holds the record index of that file (record_index.h, of one file).
inline constexpr std::string_view kStreamIndexDirectory = ".index";
/// Why the stream failed, for readers: one line.
inline constexpr std::string_view kStreamFailureName = ".failed";

enum class StreamStatus : std::uint32_t { kRunning = 0, kEnded = 1, kFailed = 2 };

struct StreamShape {
  std::uint64_t files = 0;
  std::uint64_t slots = 0;
  std::uint64_t seed = 0;  ///< of the order
};

/// Positions beyond are no positions: torn, or written by another program.
inline constexpr std::uint64_t kMostUses = std::uint64_t{1} << 56;

/// The state of a reader.
struct StreamReader {
  std::uint64_t at = 0;  ///< the first use that it is not done with
  /// The use that it waits for, or whose file it works with. None: it needs no file now, and may wait for other
  /// readers.
  std::optional<std::uint64_t> wants = {};

  bool operator==(const StreamReader&) const = default;
};

/// Move-only. All calls may come from any thread or process that has it open.
class StreamState {
 public:
  /// Creates the file with its blocks, in place of an older one. Errors: SystemError.
  static StreamState Create(const std::filesystem::path& directory, const StreamShape& shape);
  /// Errors: SystemError; Error(kEnvironment) when it is not a stream state, or shorter than its header says.
  static StreamState Open(const std::filesystem::path& directory);

  StreamState(StreamState&& other) noexcept;
  StreamState& operator=(StreamState&&) = delete;
  ~StreamState();

  const StreamShape& shape() const { return shape_; }

  StreamStatus status() const;
  void SetStatus(StreamStatus status);

  bool IsPresent(std::size_t file) const;
  void SetPresent(std::size_t file, bool present);

  /// Takes a free slot, at use 0. Nothing when all are taken.
  std::optional<std::size_t> TakeSlot();
  void SetReader(std::size_t slot, const StreamReader& reader);
  void SetWants(std::size_t slot, std::optional<std::uint64_t> use);
  /// The living readers; those with impossible numbers are left out.
  std::vector<StreamReader> Readers() const;

  /// Returns when something has changed since `seen` was returned, or after `limit`. Readers wait for files or status,
  /// the stager waits for readers. Returns the value of `seen` for the next call.
  std::uint32_t AwaitFiles(std::uint32_t seen, std::chrono::nanoseconds limit) const;
  std::uint32_t AwaitReaders(std::uint32_t seen, std::chrono::nanoseconds limit) const;

 private:
  struct Header;
  struct Slot;

  StreamState(UniqueFd fd, const StreamShape& shape);
  Header& header() const;
  Slot& slot(std::size_t number) const;
  std::uint32_t& file(std::size_t number) const;
  bool HasOwner(std::size_t slot) const;

  UniqueFd fd_;
  StreamShape shape_;
  std::byte* memory_ = nullptr;
};

}  // namespace slipway::staging
