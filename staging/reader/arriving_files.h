/// The files of a generation that is being staged, as its journal says that they have arrived.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "staging/dataset/journal.h"
#include "staging/reader/file_supply.h"

namespace slipway::staging {

/// True while a process stages (or removes) the generation that will be published at `published`.
bool IsBeingStaged(const std::filesystem::path& published);

/// Whether no process stages a generation any more. Between two runs that stage the same, one after the other, the lock
/// is free for a moment.
class StagerWatch {
 public:
  explicit StagerWatch(std::filesystem::path published, Clock& clock = SystemClock())
      : published_(std::move(published)), clock_(clock) {}

  /// True when the lock was free at every look of the last half second.
  bool IsGone();
  /// A sign of life.
  void Begin() { free_since_.reset(); }

 private:
  std::filesystem::path published_;
  Clock& clock_;
  std::optional<SteadyTime> free_since_;
};

class ArrivingFiles final : public FileSupply {
 public:
  /// Waits for the listing. Errors: Error(kEnvironment) when the staging ends before there is one.
  ArrivingFiles(std::filesystem::path published, std::uint64_t seed, const SupplyWait& wait);

  const Listing& listing() const override { return listing_; }
  DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) override;
  void Pass(std::uint64_t, std::size_t) override {}

 private:
  void TakeListing(Listing listing);
  void AwaitListing(const SupplyWait& wait);
  bool TakePublished();
  bool TakeArrivals();
  void Arrive(const JournalDone& done);
  /// Errors when no process stages any more; else reads the journal from its beginning: it may be another one now.
  void LookAfter(const std::string& what);
  bool IsStillThere(std::size_t file);
  DatasetFile Place(std::size_t file) const;

  const std::filesystem::path published_;
  const std::filesystem::path private_;
  Listing listing_;
  std::vector<std::size_t> number_of_;  ///< by place in the journal's list
  std::mutex mutex_;
  std::optional<JournalReader> journal_;
  std::uint64_t known_ = 0;                          ///< bytes of the journal
  std::vector<std::optional<DatasetFile>> arrived_;  ///< paths relative to the generation
  std::vector<Lease> leases_;                        ///< of the published generation
  bool is_published_ = false;
  StagerWatch stager_;
};

}  // namespace slipway::staging
