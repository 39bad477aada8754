#include "staging/make/make_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/filesystem_errors.h"
#include "core/share_out.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/shard_names.h"
#include "staging/convert/write_records.h"
#include "staging/make/labelled_picture.h"
#include "staging/make/made_records.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSmallest = 8;
constexpr std::size_t kLargestMadeImage = 4096;
constexpr std::size_t kLargestCube = 512;  // 5 GB of memory while it is made
constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 32;

constexpr std::array<std::pair<std::string_view, MadeData>, 3> kWords = {
    {{"hepcnn", MadeData::kHepcnn}, {"cosmoflow", MadeData::kCosmoflow}, {"imagenet-like", MadeData::kImagenetLike}}};

template <class Number>
void RequireBetween(std::string_view what, Number value, Number least, Number most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range: expected {} to {}", what, value, least, most));
}

void Check(const MakeOptions& options) {
  const bool cube = options.kind == MadeData::kCosmoflow;
  RequireBetween("size", options.size, kSmallest, cube ? kLargestCube : kLargestMadeImage);
  RequireBetween<std::uint64_t>("the number of training records", options.train_records, 1, kMostRecords);
  RequireBetween<std::uint64_t>("the number of test records", options.test_records, 0, kMostRecords);
  if (cube) RequireBetween("the box", options.box, 1.0, 1e5);
  if (options.kind != MadeData::kImagenetLike) return;
  RequireBetween<std::uint64_t>("the number of classes", options.classes, 2, kFigureClasses);
  if (options.format == DataFormat::kHdf5) {
    throw Error(ErrorKind::kUsage, "pictures are JPEG files of different lengths, which HDF5 arrays cannot hold",
                "use tfrecord");
  }
}

/// A file to be written, and its records.
struct Part {
  std::string name;
  fs::path path;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The files of one set; its records are numbered from `first` on.
void AddParts(const MakeOptions& options, const std::string& set, std::uint64_t first, std::uint64_t records,
              int shards, std::vector<Part>& parts) {
  CheckShardCount(shards, records);
  RefuseAnotherSet({options.directory, set}, shards);
  const auto names = ShardNames(set, shards, options.format);
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    const auto begin = i * records / names.size();
    parts.push_back({names[i], {}, first + begin, (i + 1) * records / names.size() - begin});
  }
}

std::vector<Part> PartsOf(const MakeOptions& options) {
  std::vector<Part> parts;
  AddParts(options, "train", 0, options.train_records, options.shards, parts);
  if (options.test_records == 0) return parts;
  const auto shards = std::min<std::uint64_t>(static_cast<std::uint64_t>(options.shards), options.test_records);
  AddParts(options, "test", kFirstTestRecord, options.test_records, static_cast<int>(shards), parts);
  return parts;
}

/// Counts the records of all threads.
class SharedProgress {
 public:
  SharedProgress(const MakeOptions& options, const std::atomic<bool>& stopped)
      : progress_(options.progress), total_(options.train_records + options.test_records), stopped_(stopped) {}

  /// One part's records, of which `made` are done.
  OnRecord ForPart() {
    return [this, before = std::uint64_t{0}](std::uint64_t made) mutable {
      if (stopped_) throw Error(ErrorKind::kInterrupted, "another file could not be written");
      Add(made - std::exchange(before, made));
    };
  }

  void Add(std::uint64_t records) {
    const std::lock_guard lock(mutex_);
    done_ += records;
    if (progress_) progress_(done_, total_);
  }

 private:
  const ConvertProgress& progress_;
  std::uint64_t total_;
  const std::atomic<bool>& stopped_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
};

void WritePart(const MakeOptions& options, const Part& part, SharedProgress& progress) {
  const auto records = MakeRecords(options, part.first, part.count);
  const auto on_record = progress.ForPart();
  if (options.format == DataFormat::kHdf5) {
    WriteHdf5(*records, part.path, on_record);
  } else {
    WriteTfrecords(*records, 0, part.count, part.path, Compression::kNone, on_record);
  }
  on_record(part.count);
}

ConvertResult MakeFiles(const MakeOptions& options) {
  Check(options);
  auto parts = PartsOf(options);
  PendingFiles pending(options.directory);
  for (auto& part : parts) part.path = pending.Add(part.name);
  std::atomic<bool> stopped = false;
  SharedProgress progress(options, stopped);
  ShareOut(parts.size(), options.threads, stopped,
           [&]() -> Worker { return [&](std::size_t i) { WritePart(options, parts[i], progress); }; });
  return {pending.Publish(), options.train_records + options.test_records, pending.bytes()};
}

}  // namespace

std::optional<MadeData> ParseMadeData(std::string_view word) {
  const auto found = std::ranges::find(kWords, word, &std::pair<std::string_view, MadeData>::first);
  if (found == kWords.end()) return {};
  return found->second;
}

std::string_view NameOf(MadeData kind) {
  return std::ranges::find(kWords, kind, &std::pair<std::string_view, MadeData>::second)->first;
}

ConvertResult MakeData(const MakeOptions& options) {
  return WithSystemErrors([&] { return MakeFiles(options); });
}

}  // namespace slipway::staging
