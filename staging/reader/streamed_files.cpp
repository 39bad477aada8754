#include "staging/reader/streamed_files.h"

#include <fmt/format.h>

#include "core/files.h"
#include "staging/reader/arriving_files.h"
#include "staging/reader/supply_wait.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr auto kStreamMoment = std::chrono::milliseconds(20);

Listing ListingIn(const fs::path& directory) {
  if (auto listing = ReadListing(directory)) return std::move(*listing);
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no list of its files", directory.string()),
              "start the run again");
}

}  // namespace

StreamedFiles::StreamedFiles(fs::path directory, std::uint64_t seed)
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
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}': the stream has {} files, its list {}", directory_.string(),
                                                     state_.shape().files, listing_.files.size()));
  }
  const auto slot = state_.TakeSlot();
  if (!slot) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} readers already", directory_.string(), state_.shape().slots),
                "open a streamed dataset once in each rank");
  }
  slot_ = *slot;
}

DatasetFile StreamedFiles::Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) {
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

void StreamedFiles::Await(std::size_t file, const SupplyWait& wait) const {
  const auto what = fmt::format("'{}'", (directory_ / listing_.files[file].path).string());
  SupplyPatience patience(wait, what);
  std::uint32_t seen = 0;
  while (!state_.IsPresent(file)) {
    CheckStream(what, patience.TimeToLook());
    patience.Tick();
    seen = state_.AwaitFiles(seen, kStreamMoment);
  }
}

std::uint64_t StreamedFiles::UseAt(std::uint64_t epoch, std::size_t place) const {
  return epoch * listing_.files.size() + place;
}

void StreamedFiles::Pass(std::uint64_t epoch, std::size_t place) { state_.SetReader(slot_, {UseAt(epoch, place)}); }

void StreamedFiles::CheckStream(const std::string& what, bool look) const {
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

DatasetFile StreamedFiles::Place(std::size_t number) {
  const auto& listed = listing_.files[number];
  DatasetFile file{directory_ / listed.path, listed.bytes.count, listed.records, {}, true};
  const std::lock_guard guard(mutex_);
  auto known = indices_.find(number);
  if (known == indices_.end()) {
    const auto path = directory_ / kStreamIndexDirectory / std::to_string(number);
    const auto text = ReadFileIfPresent(path);
    if (!text) return file;  // nothing was checked: the reader looks at the headers itself
    auto decoded = WithContext(fmt::format("in '{}'", path.string()), [&] { return DecodeRecordIndices(*text); });
    if (decoded.size() != 1) throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not one index", path.string()));
    known = indices_.emplace(number, std::move(decoded[0])).first;
  }
  file.index = known->second;
  file.records = known->second.offsets.size();
  return file;
}

}  // namespace slipway::staging
