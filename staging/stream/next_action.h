/// What a stream does next: pure.
///
/// The orders of all epochs are known, so the best file to remove is known, too: the one whose next use is farthest
/// (Belady 1966). A *use* is a file at a place of an epoch's order. A reader *at* use n works with file n, and is done
/// with all before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <variant>
#include <vector>

#include "core/units.h"
#include "staging/dataset/stream_state.h"

namespace slipway::staging {

// The order in which the files of a dataset are used, over all epochs: use number = epoch * files + place.

/// The order of one epoch: each file once.
using OrderOfEpoch = std::function<std::vector<std::size_t>(std::uint64_t epoch)>;

/// Keeps the orders of the epochs it was asked about last. Not for several threads.
class Uses {
 public:
  Uses(std::size_t files, OrderOfEpoch order) : files_(files), order_(std::move(order)) {}

  std::size_t files() const { return files_; }
  std::size_t FileOf(std::uint64_t use);
  /// The first use of `file` that is not before `use`.
  std::uint64_t NextUse(std::size_t file, std::uint64_t use);

 private:
  struct Epoch {
    std::vector<std::size_t> file_at;
    std::vector<std::uint64_t> place_of;
  };
  const Epoch& Get(std::uint64_t epoch);

  std::size_t files_;
  OrderOfEpoch order_;
  std::map<std::uint64_t, Epoch> known_;
};

struct CopyFile {
  std::size_t file = 0;
  bool operator==(const CopyFile&) const = default;
};
struct EvictFile {
  std::size_t file = 0;
  bool operator==(const EvictFile&) const = default;
};
struct WaitForReaders {
  bool operator==(const WaitForReaders&) const = default;
};
using StreamAction = std::variant<CopyFile, EvictFile, WaitForReaders>;

struct StreamView {
  std::span<const Bytes> sizes;
  std::span<const StreamReader> readers;  ///< none: as if one stood at use 0
  const std::vector<bool>& present;
  Bytes capacity;
  /// Space is freed for this many uses beyond the slowest reader's. Free space is filled however far ahead. A file that
  /// is removed early may prove more useful than those that readers pass meanwhile. 0: fewest copies, and readers wait
  /// for every one.
  std::uint64_t ahead = 1;
  /// Nothing has moved for a while. Readers may wait for each other: the slowest for one that waits for a file far
  /// ahead. Then space is freed for the first file that a reader waits for, by removing any files that no reader works
  /// with.
  bool stalled = false;
};

/// Promises:
/// - What is present never exceeds the capacity. A file that a reader works with is not removed.
/// - Unless stalled, a file that a reader is at is not removed. Nor is one that some reader needs before the file for
///   which space is freed.
/// - With space for the two largest files, readers that wait only for files always make progress.
/// - If `stalled` is set when they do not, readers that wait for each other make progress, too.
///
/// Cost: linear in the number of files.
StreamAction NextAction(const StreamView& view, Uses& uses);

}  // namespace slipway::staging
