#include "staging/make/make_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/filesystem_errors.h"
#include "core/share_out.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/record_producer.h"
#include "staging/convert/shard_names.h"
#include "staging/convert/write_records.h"
#include "staging/make/calorimeter.h"
#include "staging/make/density_field.h"
#include "staging/make/encode_jpeg.h"
#include "staging/make/labelled_picture.h"

namespace slipway::staging {
namespace {

constexpr int kJpegQuality = 90;

/// Makes one record and keeps it until another is asked for.
class MadeRecords : public RecordProducer {
 public:
  MadeRecords(std::uint64_t seed, std::uint64_t first, std::uint64_t count, std::vector<ProducedField> fields)
      : seed_(seed), first_(first), count_(count), fields_(std::move(fields)) {}

  std::uint64_t record_count() const override { return count_; }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    if (record != made_) {
      auto draw = Draw::ForRecord(seed_, first_ + record);
      Make(draw);
      made_ = record;
    }
    return ValueOf(field);
  }

 private:
  virtual void Make(Draw& draw) = 0;
  virtual std::span<const std::byte> ValueOf(std::size_t field) const = 0;

  std::uint64_t seed_;
  std::uint64_t first_;
  std::uint64_t count_;
  std::vector<ProducedField> fields_;
  std::uint64_t made_ = ~0ULL;
};

class CollisionRecords final : public MadeRecords {
 public:
  CollisionRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"image", NumberType::kFloat32, {kCalorimeterChannels, options.size, options.size}},
                     {"label", NumberType::kInt64, {}}}),
        size_(options.size),
        image_(kCalorimeterChannels * size_ * size_) {}

 private:
  void Make(Draw& draw) override {
    label_ = draw.Chance(0.5) ? 1 : 0;
    const auto particles = DrawCollision(label_ == 1, draw);
    DrawCalorimeterImage(particles, size_, draw, image_);
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    return field == 0 ? std::as_bytes(std::span(image_)) : std::as_bytes(std::span(&label_, 1));
  }

  std::size_t size_;
  std::vector<float> image_;
  std::int64_t label_ = 0;
};

class CosmologyRecords final : public MadeRecords {
 public:
  CosmologyRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"parameters", NumberType::kFloat32, {3}},
                     {"target", NumberType::kFloat32, {3}},
                     {"volume", NumberType::kFloat32, {options.size, options.size, options.size}}}),
        box_(options.box),
        size_(options.size),
        volume_(size_ * size_ * size_) {}

 private:
  struct Range {
    double low, high;
  };
  static constexpr std::array<Range, 3> kRanges = {{{0.25, 0.35}, {0.78, 0.95}, {0.9, 1.0}}};

  void Make(Draw& draw) override {
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < 3; ++i) {
      const double place = draw.Between(0, 1);
      values[i] = kRanges[i].low + (kRanges[i].high - kRanges[i].low) * place;
      parameters_[i] = static_cast<float>(values[i]);
      target_[i] = static_cast<float>(2 * place - 1);
    }
    DrawDensityField({values[0], values[1], values[2]}, box_, size_, draw, volume_);
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    switch (field) {
      case 0: return std::as_bytes(std::span(parameters_));
      case 1: return std::as_bytes(std::span(target_));
      default: return std::as_bytes(std::span(volume_));
    }
  }

  double box_;
  std::size_t size_;
  std::array<float, 3> parameters_{};
  std::array<float, 3> target_{};
  std::vector<float> volume_;
};

class PictureRecords final : public MadeRecords {
 public:
  PictureRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"image/class/label", NumberType::kInt64, {}},
                     {"image/class/text", NumberType::kUint8, {}, true},
                     {"image/encoded", NumberType::kUint8, {}, true},
                     {"image/height", NumberType::kInt64, {}},
                     {"image/width", NumberType::kInt64, {}}}),
        size_(options.size),
        classes_(options.classes) {}

 private:
  void Make(Draw& draw) override {
    const auto figure = draw.Below(classes_);
    const auto picture = DrawLabelledPicture(figure, size_, draw);
    name_ = FigureName(figure);
    encoded_ = EncodeJpeg(picture, kJpegQuality);
    numbers_ = {static_cast<std::int64_t>(figure) + 1, static_cast<std::int64_t>(picture.height),
                static_cast<std::int64_t>(picture.width)};
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    switch (field) {
      case 0: return std::as_bytes(std::span(numbers_).subspan(0, 1));
      case 1: return std::as_bytes(std::span(name_));
      case 2: return encoded_;
      case 3: return std::as_bytes(std::span(numbers_).subspan(1, 1));
      default: return std::as_bytes(std::span(numbers_).subspan(2, 1));
    }
  }

  std::size_t size_;
  std::uint64_t classes_;
  std::string name_;
  std::vector<std::byte> encoded_;
  std::array<std::int64_t, 3> numbers_{};  // label, height, width
};

/// Records `first` .. `first + count` - 1 of the dataset in `options`. Fields:
/// - kHepcnn: `image` float32 [3, size, size], `label` int64 0 or 1, evenly.
/// - kCosmoflow: `volume` float32 [size, size, size]; `parameters` float32 [3]; `target` float32 [3], the parameters
///   between -1 and 1. The parameters are Omega_m 0.25 to 0.35, sigma_8 0.78 to 0.95, n_s 0.9 to 1, evenly.
/// - kImagenetLike: `image/encoded` (a JPEG file), `image/height`, `image/width`, `image/class/label` from 1 on,
///   `image/class/text`.
std::unique_ptr<RecordProducer> MakeRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count) {
  switch (options.kind) {
    case MadeData::kHepcnn: return std::make_unique<CollisionRecords>(options, first, count);
    case MadeData::kCosmoflow: return std::make_unique<CosmologyRecords>(options, first, count);
    case MadeData::kImagenetLike: break;
  }
  return std::make_unique<PictureRecords>(options, first, count);
}

/// The test set's records are numbered from here on: no record of one set is one of the other.
inline constexpr std::uint64_t kFirstTestRecord = std::uint64_t{1} << 40;

}  // namespace

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSmallest = 8;
constexpr std::size_t kLargestMadeImage = 4096;
constexpr std::size_t kLargestCube = 512;  // 5 GB of memory while it is made
constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 32;

template <class Number>
void RequireBetween(std::string_view what, Number value, Number least, Number most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range: expected {} to {}", what, value, least, most),
              "see slipway data make --help");
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
  const auto names = ShardNames(set, shards, SuffixOf(options.format));
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
  return {pending.Publish(), options.train_records + options.test_records, pending.bytes(), {}, 0, options.format};
}

}  // namespace

WordTable<MadeData> WordsOf(MadeData) {
  static constexpr Word<MadeData> kWords[] = {
      {MadeData::kHepcnn, "hepcnn"}, {MadeData::kCosmoflow, "cosmoflow"}, {MadeData::kImagenetLike, "imagenet-like"}};
  return kWords;
}

ConvertResult MakeData(const MakeOptions& options) {
  return WithSystemErrors([&] { return MakeFiles(options); });
}

}  // namespace slipway::staging
