#include "staging/reader/file_supply.h"

#include <fmt/format.h>

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
      : dataset_(FindDatasetFiles(path)), listing_(ListingOf(dataset_, path)), seed_(seed) {}

  const Listing& listing() const override { return listing_; }
  std::vector<std::size_t> Order(std::uint64_t epoch) const override {
    return FileOrder(dataset_.files.size(), seed_, epoch);
  }
  DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait&) override {
    CheckPlace(listing_, place);
    return dataset_.files[Order(epoch)[place]];
  }
  void Pass(std::uint64_t, std::size_t) override {}

 private:
  DatasetFiles dataset_;
  Listing listing_;
  std::uint64_t seed_;
};

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

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

void CheckPlace(const Listing& listing, std::size_t place) {
  if (place < listing.files.size()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("there is no place {} in an order of {} files", place, listing.files.size()));
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
  while (!Exists(named) && IsBeingStaged(named)) patience.Sleep();
  if (Exists(named)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("the staging of '{}' has ended without it", named.string()),
              "the log of the run that staged it says why; start it again");
}

}  // namespace slipway::staging
