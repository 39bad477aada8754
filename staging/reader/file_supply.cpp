#include "staging/reader/file_supply.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "staging/dataset/manifest.h"
#include "staging/dataset/stream_state.h"
#include "staging/reader/arriving_files.h"
#include "staging/reader/sharding.h"
#include "staging/reader/streamed_files.h"
#include "staging/reader/supply_wait.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// What lies there, all of it.
class PublishedFiles final : public FileSupply {
 public:
  PublishedFiles(const fs::path& path, std::uint64_t seed)
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
fs::path Named(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

}  // namespace

Listing ListingOf(const DatasetFiles& dataset, const fs::path& directory) {
  Listing listing{dataset.format, {}};
  for (const auto& file : dataset.files) {
    std::error_code unknown;
    const auto bytes = file.bytes ? *file.bytes : fs::file_size(file.path, unknown);
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
                fmt::format("there is no place {} in an order of {} files", place, listing().files.size()));
  }
  const std::lock_guard guard(mutex_);
  auto known = orders_.find(epoch);
  if (known == orders_.end()) {
    if (orders_.size() == kKept) orders_.erase(orders_.begin());
    known = orders_.emplace(epoch, Order(epoch)).first;
  }
  return known->second[place];
}

std::optional<FileIdentity> IdentityOf(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return FileIdentity{info.st_dev, info.st_ino, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
}

std::unique_ptr<FileSupply> OpenSupply(const fs::path& path, std::uint64_t seed, const SupplyWait& wait) {
  const auto named = Named(path);
  if (Exists(named / kStreamStateName)) return std::make_unique<StreamedFiles>(named, seed);
  if (!Exists(named) && IsBeingStaged(named)) return std::make_unique<ArrivingFiles>(named, seed, wait);
  return std::make_unique<PublishedFiles>(named, seed);
}

void AwaitPublished(const fs::path& path, const SupplyWait& wait) {
  const auto named = Named(path);
  if (Exists(named / kStreamStateName)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is a stream: it never holds all of its files at a time", named.string()),
                "read it in the windowed order of the batch reader, or put 'none' at the end of the dataset's tiers");
  }
  if (Exists(named) || !IsBeingStaged(named)) return;
  SupplyPatience patience(wait, fmt::format("'{}'", named.string()));
  StagerWatch stager(named);
  while (!Exists(named) && !stager.IsGone()) patience.Sleep();
  if (Exists(named)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("the staging of '{}' has ended without it", named.string()),
              "the log of the run that staged it says why; start it again");
}

}  // namespace slipway::staging
