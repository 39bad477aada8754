#include "staging/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/record_producer.h"
#include "staging/convert/shard_names.h"
#include "staging/convert/write_records.h"
#include "staging/dataset/dataset_files.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

bool IsNumpy(const fs::path& path) { return path.extension() == ".npy" || path.extension() == ".npz"; }

DatasetFiles FilesOf(const std::vector<fs::path>& sources) {
  return sources.size() == 1 ? FindDatasetFiles(sources[0]) : DescribeFiles(sources);
}

std::unique_ptr<RecordProducer> ProduceFromDataset(const std::vector<fs::path>& sources) {
  const auto dataset = FilesOf(sources);
  std::vector<fs::path> files;
  for (const auto& file : dataset.files) files.push_back(file.path);
  if (dataset.format == DataFormat::kTfrecord) return ProduceFromTfrecords(files);
  if (dataset.format == DataFormat::kHdf5) return ProduceFromHdf5(files);
  throw Error(
      ErrorKind::kUsage, fmt::format("'{}' is nothing that is converted", files[0].string()),
      "sources are .npy and .npz files, folders of images, TFRecord and HDF5; idx files are given with --images "
      "and --labels");
}

std::unique_ptr<RecordProducer> Produce(const ConvertOptions& options) {
  const bool idx = !options.images.empty() || !options.labels.empty();
  if (idx == !options.sources.empty()) {
    throw Error(ErrorKind::kUsage, "name either a source or idx files of images and labels");
  }
  if (idx) return ProduceFromIdx(options.images, options.labels);
  const auto numpy = std::ranges::count_if(options.sources, IsNumpy);
  if (numpy == static_cast<std::ptrdiff_t>(options.sources.size())) return ProduceFromNpy(options.sources);
  if (options.sources.size() == 1 && HasImageFolders(options.sources[0])) {
    return ProduceFromImageFolders(options.sources[0]);
  }
  return ProduceFromDataset(options.sources);
}

void RequireKnownTarget(const ConvertOptions& options) {
  if (options.to == DataFormat::kRaw) throw Error(ErrorKind::kUsage, "data is converted to tfrecord or to hdf5");
  if (options.to == DataFormat::kHdf5 && options.compression != Compression::kNone) {
    throw Error(ErrorKind::kUsage, "only TFRecord files are compressed", "leave the compression out, or use tfrecord");
  }
}

void WriteShards(RecordProducer& source, const ShardTarget& target, const ConvertOptions& options,
                 PendingFiles& pending, const OnRecord& on_record) {
  const auto records = source.record_count();
  const auto shards = static_cast<std::uint64_t>(options.shards);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    const auto path = pending.Add(ShardName(target.name, static_cast<int>(shard), options.shards));
    WriteTfrecords(source, shard * records / shards, (shard + 1) * records / shards, path, options.compression,
                   on_record);
  }
}

}  // namespace

ConvertResult Convert(const ConvertOptions& options) {
  RequireKnownTarget(options);
  const auto target = ShardTargetOf(options.destination);
  const auto source = Produce(options);
  const auto records = source->record_count();
  const bool tfrecord = options.to == DataFormat::kTfrecord;
  if (tfrecord) {
    CheckShardCount(options.shards, records);
    RefuseAnotherSet(target, options.shards);
  }
  const auto on_record = [&](std::uint64_t record) {
    if (options.progress) options.progress(record, records);
  };
  PendingFiles pending(target.directory);
  tfrecord ? WriteShards(*source, target, options, pending, on_record)
           : WriteHdf5(*source, pending.Add(target.name + ".h5"), on_record);
  on_record(records);
  ConvertResult result{pending.Publish(), records, 0};
  for (const auto& file : result.files) result.bytes += fs::file_size(file);
  return result;
}

}  // namespace slipway::staging
