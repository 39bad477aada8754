/// The source of a reader's files, in the order in which an epoch uses them.
///
/// A published generation gives each file at once. One that is being staged gives it when it has arrived, a stream when
/// it is present again. What is read, and in which order, is the same in all three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/listing.h"

namespace slipway::staging {

/// Callbacks of a caller while a supply waits.
struct SupplyWait {
  /// About fifty times a second; may throw to end the wait.
  std::function<void()> tick = {};
  /// Nothing has come for a minute: which file is waited for, and since when. Empty: one line on stderr.
  std::function<void(std::string_view)> warn = {};
};

/// Calls may come from several threads.
class FileSupply {
 public:
  explicit FileSupply(std::uint64_t seed) : seed_(seed) {}
  FileSupply(const FileSupply&) = delete;
  FileSupply& operator=(const FileSupply&) = delete;
  virtual ~FileSupply() = default;

  /// The files in the order of their names; `records` only where it is known before the file is there.
  virtual const Listing& listing() const = 0;

  /// The files' numbers in the listing, in the order in which `epoch` uses them: FileOrder of the seed.
  std::vector<std::size_t> Order(std::uint64_t epoch) const;
  /// The number at `place` of it. Cost: that of Order() once for each epoch that readers are in.
  /// Errors: Error(kUsage) for a place outside of the order.
  std::size_t FileAt(std::uint64_t epoch, std::size_t place) const;

  /// The file at `place` of the epoch's order; waits until it is present. Publishing moves files: see OpenSupplied.
  /// Errors: Error(kEnvironment) naming the file when no staging brings it any more; Error(kUsage) for a place outside
  ///         of the order.
  virtual DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) = 0;

  /// This reader is done with what it took and with all files before `place` of `epoch`, open ones included. A stream
  /// frees space with it.
  virtual void Pass(std::uint64_t epoch, std::size_t place) = 0;

 private:
  const std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::vector<std::size_t>> orders_;  ///< of the epochs asked about last
};

/// Opens the supply of the dataset at `path`: a stream, a generation that is being staged, or what FindDatasetFiles
/// finds there. A generation counts as being staged once its stage lock is held. `seed` is that of the order; a stream
/// has its own.
/// Errors: those of FindDatasetFiles; Error(kUsage) when a stream has another seed.
std::unique_ptr<FileSupply> OpenSupply(const std::filesystem::path& path, std::uint64_t seed,
                                       const SupplyWait& wait = {});

/// Tells a file from one that has taken its place.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Nothing when it is not there.
std::optional<FileIdentity> IdentityOf(const std::filesystem::path& path);

/// `open(file)`, once more when the file was moved, taken away or brought back between Take() and the open.
template <class Open>
auto OpenSupplied(FileSupply& supply, std::uint64_t epoch, std::size_t place, const SupplyWait& wait, const Open& open)
    -> decltype(open(DatasetFile())) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const auto file = supply.Take(epoch, place, wait);
    const auto identity = IdentityOf(file.path);
    try {
      return open(file);
    } catch (const Error&) {
      if (attempt == kAttempts || (identity && identity == IdentityOf(file.path))) throw;
    }
  }
}

/// The files of `dataset`, called by their paths below `directory`.
Listing ListingOf(const DatasetFiles& dataset, const std::filesystem::path& directory);

/// Returns when the dataset at `path`, which is no stream, is not being staged (any more).
/// Errors: Error(kEnvironment) when its staging ended without a dataset.
void AwaitPublished(const std::filesystem::path& path);

}  // namespace slipway::staging
