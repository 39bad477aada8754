#include "staging/reader/arriving_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/reader/supply_wait.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

fs::path PrivateOf(const fs::path& published) { return published.parent_path() / ".staging" / published.filename(); }

[[noreturn]] void ThrowAbandoned(const std::string& what) {
  throw Error(ErrorKind::kFailed, fmt::format("the staging has ended, and {} has not arrived", what),
              "the log of the run that staged it says why; start it again");
}

}  // namespace

bool IsBeingStaged(const fs::path& published) {
  auto lock = published.parent_path() / ".locks" / published.filename();
  lock += ".stage";
  return !FileLock::TryLook(lock);
}

bool StagerWatch::IsGone() {
  constexpr auto kFreeMoment = std::chrono::milliseconds(500);
  if (IsBeingStaged(published_))
    free_since_.reset();
  else if (!free_since_)
    free_since_ = clock_.Steady();
  return free_since_ && clock_.Steady() - *free_since_ >= kFreeMoment;
}

ArrivingFiles::ArrivingFiles(fs::path published, std::uint64_t seed, const SupplyWait& wait)
    : FileSupply(seed), published_(std::move(published)), private_(PrivateOf(published_)), stager_(published_) {
  AwaitListing(wait);
  arrived_.resize(listing_.files.size());
}

void ArrivingFiles::AwaitListing(const SupplyWait& wait) {
  const auto what = fmt::format("the list of files of '{}'", published_.string());
  SupplyPatience patience(wait, what);
  while (true) {
    if (auto listing = ReadListing(private_)) return TakeListing(std::move(*listing));
    if (Exists(published_ / kManifestName)) {
      is_published_ = true;
      return TakeListing(ListingOf(FindDatasetFiles(published_), published_));
    }
    if (patience.TimeToLook()) LookAfter(what);
    patience.Sleep();
  }
}

/// The journal counts files as the plan lists them, readers as the names are sorted.
void ArrivingFiles::TakeListing(Listing listing) {
  std::vector<std::size_t> sorted(listing.files.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, [&](std::size_t i) { return fs::path(listing.files[i].path); });
  listing_.format = listing.format;
  number_of_.resize(sorted.size());
  for (std::size_t number = 0; number < sorted.size(); ++number) {
    number_of_[sorted[number]] = number;
    listing_.files.push_back(std::move(listing.files[sorted[number]]));
  }
}

DatasetFile ArrivingFiles::Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) {
  const auto file = FileAt(epoch, place);
  const auto what = fmt::format("'{}'", (published_ / listing_.files[file].path).string());
  SupplyPatience patience(wait, what);
  while (true) {
    {
      const std::lock_guard guard(mutex_);
      const bool news = TakePublished() || TakeArrivals();
      if (arrived_[file] && IsStillThere(file)) return Place(file);
      if (news) patience.Restart();
      if (patience.TimeToLook()) LookAfter(what);
    }
    patience.Sleep();
  }
}

DatasetFile ArrivingFiles::Place(std::size_t file) const {
  auto place = *arrived_[file];
  place.path = (is_published_ ? published_ : private_) / listing_.files[file].path;
  return place;
}

/// A run that gave up took its files with it; another one that wanted the same begins again.
bool ArrivingFiles::IsStillThere(std::size_t file) {
  if (is_published_ || Exists(private_ / listing_.files[file].path)) return true;
  if (TakePublished()) return true;
  for (auto& arrived : arrived_) arrived.reset();
  journal_.reset();
  return false;
}

bool ArrivingFiles::TakePublished() {
  if (is_published_ && arrived_[0]) return false;
  if (!Exists(published_ / kManifestName)) return false;
  auto dataset = FindDatasetFiles(published_);
  if (ListingOf(dataset, published_).files.size() != listing_.files.size()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' was published with other files than those listed before", published_.string()),
                "open the dataset again");
  }
  for (std::size_t i = 0; i < dataset.files.size(); ++i) arrived_[i] = std::move(dataset.files[i]);
  leases_ = std::move(dataset.leases);
  is_published_ = true;
  return true;
}

bool ArrivingFiles::TakeArrivals() {
  if (is_published_) return false;
  if (!journal_) journal_.emplace(private_ / kJournalName);
  for (const auto& entry : journal_->Next()) {
    if (std::holds_alternative<JournalHead>(entry)) {  // who takes over checks what is there before telling it again
      for (auto& arrived : arrived_) arrived.reset();
    }
    const auto* done = std::get_if<JournalDone>(&entry);
    if (done != nullptr && done->file < number_of_.size()) Arrive(*done);
    const auto* start = std::get_if<JournalStart>(&entry);
    if (start != nullptr && start->file < number_of_.size()) arrived_[number_of_[start->file]].reset();
  }
  const bool news = journal_->consumed() != known_;  // what is read once more is none
  known_ = journal_->consumed();
  if (news) stager_.Begin();
  return news;
}

void ArrivingFiles::Arrive(const JournalDone& done) {
  const auto number = number_of_[done.file];
  DatasetFile file{{}, listing_.files[number].bytes.count, done.records, {}, true};
  if (!done.offsets.empty()) file.index = RecordIndex{done.offsets, done.end};
  arrived_[number] = std::move(file);
}

void ArrivingFiles::LookAfter(const std::string& what) {
  if (is_published_ || Exists(published_ / kManifestName)) return;
  if (stager_.IsGone() && !Exists(published_ / kManifestName)) ThrowAbandoned(what);
  journal_.reset();
}

}  // namespace slipway::staging
