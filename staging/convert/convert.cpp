#include "staging/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "staging/convert/pending_files.h"
#include "staging/formats/example.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/idx.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

constexpr auto kImageField = "image";
constexpr auto kLabelField = "label";
constexpr auto kDefaultName = "train";
constexpr std::uint64_t kProgressEvery = 256;  // records
constexpr int kMostShards = 99999;             // five digits in the name

struct Target {
  fs::path directory;
  std::string name;
};

Target TargetOf(const ConvertOptions& options) {
  const auto& destination = options.destination;
  if (destination.empty()) throw Error(ErrorKind::kUsage, "the converted files need a destination");
  if (!destination.has_filename()) return {destination.parent_path(), kDefaultName};
  if (fs::is_directory(destination)) return {destination, kDefaultName};
  const auto extension = destination.extension();
  const bool known = extension == ".tfrecord" || extension == ".h5" || extension == ".hdf5";
  auto directory = destination.has_parent_path() ? destination.parent_path() : fs::path(".");
  return {std::move(directory), (known ? destination.stem() : destination.filename()).string()};
}

std::string ShardName(const std::string& name, int shard, int shards) {
  return fmt::format("{}-{:05}-of-{:05}.tfrecord", name, shard, shards);
}

/// "NAME-00001-of-00004.tfrecord" of another number of shards than `shards`.
bool IsOfAnotherSet(std::string_view file, std::string_view name, int shards) {
  constexpr std::string_view kShape = "-00000-of-00000.tfrecord";
  if (file.size() != name.size() + kShape.size() || !file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  const bool same_shape = std::ranges::equal(file, kShape, [](char found, char wanted) {
    return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
  });
  return same_shape && file.substr(10, 5) != fmt::format("{:05}", shards);
}

/// NAME-* would later match both sets, and every record would count twice.
void RefuseAnotherSet(const Target& target, int shards) {
  if (!fs::is_directory(target.directory)) return;
  for (const auto& entry : fs::directory_iterator(target.directory)) {
    if (!IsOfAnotherSet(entry.path().filename().string(), target.name, shards)) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' belongs to a set with another number of shards", entry.path().string()),
                "remove that set, or choose another name");
  }
}

struct LabelledImages {
  IdxArray images;
  IdxArray labels;
};

LabelledImages ReadSources(const ConvertOptions& options) {
  LabelledImages sources{ReadIdx(options.images), ReadIdx(options.labels)};
  if (sources.images.shape.size() < 2 || sources.labels.shape.size() != 1) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' and '{}' have {} and {} dimensions: expected images and their "
                                               "labels",
                                               options.images.string(), options.labels.string(),
                                               sources.images.shape.size(), sources.labels.shape.size()));
  }
  if (sources.images.record_count() != sources.labels.record_count()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} images, '{}' has {} labels", options.images.string(),
                            sources.images.record_count(), options.labels.string(), sources.labels.record_count()));
  }
  if (sources.images.record_count() == 0) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no images", options.images.string()));
  }
  return sources;
}

std::int64_t LabelOf(const LabelledImages& sources, std::uint64_t record) {
  return std::to_integer<std::int64_t>(sources.labels.values[record]);
}

std::string MakeRecord(const LabelledImages& sources, std::uint64_t record) {
  const auto image = sources.images.Record(record);
  return ExampleBuilder()
      .AddBytes(kImageField, {reinterpret_cast<const char*>(image.data()), image.size()})
      .AddInt(kLabelField, LabelOf(sources, record))
      .Finish();
}

void WriteShard(const LabelledImages& sources, std::uint64_t begin, std::uint64_t end, const fs::path& path,
                const ConvertOptions& options) {
  TfrecordWriter writer(path);
  for (auto record = begin; record < end; ++record) {
    writer.Write(MakeRecord(sources, record));
    if (options.progress && record % kProgressEvery == 0) options.progress(record, sources.images.record_count());
  }
  writer.Close();
}

void CheckShards(int shards, std::uint64_t records) {
  if (shards >= 1 && shards <= kMostShards && static_cast<std::uint64_t>(shards) <= records) return;
  throw Error(ErrorKind::kUsage, fmt::format("cannot make {} shards of {} records: expected 1 to {}", shards, records,
                                             std::min<std::uint64_t>(records, kMostShards)));
}

void WriteTfrecords(const LabelledImages& sources, const Target& target, const ConvertOptions& options,
                    PendingFiles& pending) {
  const auto records = sources.images.record_count();
  const auto shards = static_cast<std::uint64_t>(options.shards);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    const auto path = pending.Add(ShardName(target.name, static_cast<int>(shard), options.shards));
    WriteShard(sources, shard * records / shards, (shard + 1) * records / shards, path, options);
  }
}

void WriteHdf5(const LabelledImages& sources, const Target& target, PendingFiles& pending) {
  const auto file = CreateHdf5(pending.Add(target.name + ".h5"));
  file->WriteDataset({kImageField, NumberType::kUint8, sources.images.shape}, sources.images.values);
  std::vector<std::int64_t> labels(sources.labels.record_count());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = LabelOf(sources, i);
  file->WriteDataset({kLabelField, NumberType::kInt64, sources.labels.shape}, std::as_bytes(std::span(labels)));
  file->Close();
}

}  // namespace

ConvertResult ConvertIdx(const ConvertOptions& options) {
  if (options.to == DataFormat::kRaw) throw Error(ErrorKind::kUsage, "data is converted to tfrecord or to hdf5");
  const auto target = TargetOf(options);
  const auto sources = ReadSources(options);
  const auto records = sources.images.record_count();
  const bool tfrecord = options.to == DataFormat::kTfrecord;
  if (tfrecord) {
    CheckShards(options.shards, records);
    RefuseAnotherSet(target, options.shards);
  }
  PendingFiles pending(target.directory);
  tfrecord ? WriteTfrecords(sources, target, options, pending) : WriteHdf5(sources, target, pending);
  if (options.progress) options.progress(records, records);
  ConvertResult result{pending.Publish(), records, 0};
  for (const auto& file : result.files) result.bytes += fs::file_size(file);
  return result;
}

}  // namespace slipway::staging
