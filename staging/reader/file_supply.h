/// Where a reader gets the files of a dataset from, in the order in which an epoch uses them.
///
/// A published generation gives each file at once, one that is being staged when the file has arrived, a stream when it
/// is there again. What is read, and in which order, is the same in all three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/listing.h"

namespace slipway::staging {

/// What a caller wants to hear while a supply waits.
struct SupplyWait {
  /// About fifty times a second; may throw to end the wait.
  std::function<void()> tick = {};
  /// Nothing has come for a minute: which file is waited for, and since when. Empty: one line on stderr.
  std::function<void(std::string_view)> warn = {};
};

/// Calls may come from several threads.
class FileSupply {
 public:
  virtual ~FileSupply() = default;

  /// The files in the order of their names; `records` only where it is known before the file is there.
  virtual const Listing& listing() const = 0;

  /// The files' numbers in the listing, in the order in which `epoch` uses them: FileOrder of the seed.
  virtual std::vector<std::size_t> Order(std::uint64_t epoch) const = 0;

  /// The file at `place` of the epoch's order; waits until it is there. Publishing moves files: see OpenSupplied.
  /// Errors: Error(kEnvironment) naming the file that is waited for when nobody brings it any more;
  ///         Error(kUsage) for a place outside of the order.
  virtual DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) = 0;

  /// This reader is done with what it took and with all files before `place` of `epoch`, open ones included. A stream
  /// makes room with it.
  virtual void Pass(std::uint64_t epoch, std::size_t place) = 0;
};

/// For the dataset at `path`: a stream, a generation that is being staged (or about to be: its stage lock is held), or
/// what FindDatasetFiles finds there. `seed` is the one of the order; a stream has its own.
/// Errors: those of FindDatasetFiles; Error(kUsage) when a stream has another seed.
std::unique_ptr<FileSupply> OpenSupply(const std::filesystem::path& path, std::uint64_t seed,
                                       const SupplyWait& wait = {});

/// `open(file)`, once more when the file was moved or taken away between Take() and the open.
template <class Open>
auto OpenSupplied(FileSupply& supply, std::uint64_t epoch, std::size_t place, const SupplyWait& wait, const Open& open)
    -> decltype(open(DatasetFile())) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const auto file = supply.Take(epoch, place, wait);
    std::error_code ignored;
    try {
      return open(file);
    } catch (const Error&) {
      if (attempt == kAttempts || std::filesystem::exists(file.path, ignored)) throw;
    }
  }
}

/// The files of `dataset`, called by their paths below `directory`.
Listing ListingOf(const DatasetFiles& dataset, const std::filesystem::path& directory);
/// Errors: Error(kUsage) when the order has no such place.
void CheckPlace(const Listing& listing, std::size_t place);

/// Returns when the dataset at `path` is not being staged (any more): programs that want all of it wait here.
/// Errors: Error(kEnvironment) when its staging ended without a dataset.
void AwaitPublished(const std::filesystem::path& path, const SupplyWait& wait = {});

}  // namespace slipway::staging
