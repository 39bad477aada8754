#include "staging/reader/file_supply.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <mutex>

#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/dataset/stream_state.h"
#include "staging/reader/arriving_files.h"
#include "staging/reader/sharding.h"
#include "staging/reader/supply_wait.h"

namespace slipway::staging {
namespace {

constexpr auto kStreamMoment = std::chrono::milliseconds(20);

Listing ListingIn(const std::filesystem::path& directory) {
  if (auto listing = ReadListing(directory)) return std::move(*listing);
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no list of its files", directory.string()),
              "start the run again");
}

/// Stands for one reader: it must Pass() files in order, or the stream waits for it.
class StreamedFiles final : public FileSupply {
 public:
  /// Errors: Error(kEnvironment): no stream, or more readers than it has places for; Error(kUsage): another seed.
  StreamedFiles(std::filesystem::path directory, std::uint64_t seed)
      : FileSupply(seed),
        directory_(std::move(directory)),
        state_(StreamState::Open(directory_)),
        listing_(ListingIn(directory_)) {
    if (state_.shape().seed != seed) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' comes in the order of seed {}, this reader asks for seed {}", directory_.string(),
                              state_.shape().seed, seed),
                  "leave the reader's seed as it is, and set data.NAME.seed of the spec");
    }
    if (listing_.files.size() != state_.shape().files) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}': the stream has {} files, its list {}", directory_.string(), state_.shape().files,
                              listing_.files.size()),
                  "wait until the stream has written its list, then open it again");
    }
    const auto slot = state_.TakeSlot();
    if (!slot) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' has {} readers already", directory_.string(), state_.shape().slots),
                  "open a streamed dataset once in each rank");
    }
    slot_ = *slot;
  }

  const Listing& listing() const override { return listing_; }
  DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) override {
    const auto file = FileAt(epoch, place);
    state_.SetWants(slot_, UseAt(epoch, place));
    try {
      Await(file, wait);
    } catch (...) {
      state_.SetWants(slot_, {});
      throw;
    }
    return Place(file);
  }

  void Pass(std::uint64_t epoch, std::size_t place) override { state_.SetReader(slot_, {UseAt(epoch, place)}); }

 private:
  void Await(std::size_t file, const SupplyWait& wait) const {
    const auto what = fmt::format("'{}'", (directory_ / listing_.files[file].path).string());
    SupplyPatience patience(wait, what);
    std::uint32_t seen = 0;
    while (!state_.IsPresent(file)) {
      CheckStream(what, patience.TimeToLook());
      patience.Tick();
      seen = state_.AwaitFiles(seen, kStreamMoment);
    }
  }

  void CheckStream(const std::string& what, bool look) const {
    const auto status = state_.status();
    if (status == StreamStatus::kRunning &&
        (!look || IsBeingStaged(directory_.parent_path().parent_path() / directory_.filename()))) {
      return;
    }
    auto why = ReadFileIfPresent(directory_ / kStreamFailureName).value_or("");
    if (why.empty()) why = "the run that staged it has ended";
    throw Error(ErrorKind::kFailed, fmt::format("the stream has ended, and {} does not come: {}", what, why),
                "start the run again");
  }

  DatasetFile Place(std::size_t number) {
    const auto& listed = listing_.files[number];
    DatasetFile file{directory_ / listed.path, listed.bytes.count, listed.records, {}, true};
    const std::lock_guard guard(mutex_);
    auto known = indices_.find(number);
    if (known == indices_.end()) {
      const auto path = directory_ / kStreamIndexDirectory / std::to_string(number);
      const auto text = ReadFileIfPresent(path);
      if (!text) return file;  // nothing was checked: the reader looks at the headers itself
      auto decoded = WithContext(fmt::format("in '{}'", path.string()), [&] { return DecodeRecordIndices(*text); });
      if (decoded.size() != 1)
        throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not one index", path.string()),
                    "stage the dataset again");
      known = indices_.emplace(number, std::move(decoded[0])).first;
    }
    file.index = known->second;
    file.records = known->second.offsets.size();
    return file;
  }

  std::uint64_t UseAt(std::uint64_t epoch, std::size_t place) const { return epoch * listing_.files.size() + place; }

  const std::filesystem::path directory_;
  StreamState state_;
  Listing listing_;
  std::size_t slot_ = 0;
  std::mutex mutex_;
  std::map<std::size_t, RecordIndex> indices_;
};

/// What lies there, all of it.
class PublishedFiles final : public FileSupply {
 public:
  PublishedFiles(const std::filesystem::path& path, std::uint64_t seed)
      : FileSupply(seed), dataset_(FindDatasetFiles(path)), listing_(ListingOf(dataset_, path)) {}

  const Listing& listing() const override { return listing_; }
  DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait&) override {
    return dataset_.files[FileAt(epoch, place)];
  }
  void Pass(std::uint64_t, std::size_t) override {}

 private:
  DatasetFiles dataset_;
  Listing listing_;
};

/// Without a slash at its end, so that it has a name.
std::filesystem::path Named(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Listing ListingOf(const DatasetFiles& dataset, const std::filesystem::path& directory) {
  Listing listing{dataset.format, {}};
  for (const auto& file : dataset.files) {
    std::error_code unknown;
    const auto bytes = file.bytes ? *file.bytes : std::filesystem::file_size(file.path, unknown);
    listing.files.push_back({file.path.lexically_relative(directory).string(), Bytes{bytes}, file.records});
  }
  return listing;
}

std::vector<std::size_t> FileSupply::Order(std::uint64_t epoch) const {
  return FileOrder(listing().files.size(), seed_, epoch);
}

std::size_t FileSupply::FileAt(std::uint64_t epoch, std::size_t place) const {
  constexpr std::size_t kKept = 4;
  if (place >= listing().files.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("there is no place {} in an order of {} files", place, listing().files.size()),
                "ask for a place in the order");
  }
  const std::lock_guard guard(mutex_);
  auto known = orders_.find(epoch);
  if (known == orders_.end()) {
    if (orders_.size() == kKept) orders_.erase(orders_.begin());
    known = orders_.emplace(epoch, Order(epoch)).first;
  }
  return known->second[place];
}

std::optional<FileIdentity> IdentityOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return FileIdentity{info.st_dev, info.st_ino, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
}

std::unique_ptr<FileSupply> OpenSupply(const std::filesystem::path& path, std::uint64_t seed, const SupplyWait& wait) {
  const auto named = Named(path);
  if (Exists(named / kStreamStateName)) return std::make_unique<StreamedFiles>(named, seed);
  if (!Exists(named) && IsBeingStaged(named)) return std::make_unique<ArrivingFiles>(named, seed, wait);
  return std::make_unique<PublishedFiles>(named, seed);
}

void AwaitPublished(const std::filesystem::path& path) {
  const auto named = Named(path);
  if (Exists(named) || !IsBeingStaged(named)) return;
  const SupplyWait wait;
  SupplyPatience patience(wait, fmt::format("'{}'", named.string()));
  StagerWatch stager(named);
  while (!Exists(named) && !stager.IsGone()) patience.Sleep();
  if (Exists(named)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("the staging of '{}' has ended without it", named.string()),
              "the log of the run that staged it says why; start it again");
}

}  // namespace slipway::staging
