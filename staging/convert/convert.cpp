#include "staging/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/filesystem_errors.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/record_producer.h"
#include "staging/convert/shard_names.h"
#include "staging/convert/shard_part.h"
#include "staging/convert/source_files.h"
#include "staging/convert/write_records.h"
#include "staging/convert/write_samples.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

bool IsNumpy(const fs::path& path) { return path.extension() == ".npy" || path.extension() == ".npz"; }

/// What is read. Images in folders are not among the files: no result has such a name.
struct Source {
  std::vector<fs::path> files;
  std::unique_ptr<RecordProducer> producer;
  std::vector<LeftOutFile> left_out = {};
  std::size_t file_count = files.size();
  std::vector<Lease> leases = {};
};

Source OpenDataset(const std::vector<fs::path>& sources) {
  const auto dataset = DatasetOf(sources);
  std::vector<fs::path> files;
  for (const auto& file : dataset.files) files.push_back(file.path);
  const auto from = [&](std::unique_ptr<RecordProducer> producer) {
    return Source{files, std::move(producer), dataset.left_out, files.size(), dataset.leases};
  };
  if (dataset.format == DataFormat::kTfrecord) return from(ProduceFromTfrecords(files));
  if (dataset.format == DataFormat::kHdf5) return from(ProduceFromHdf5(files));
  if (dataset.format == DataFormat::kImages) return from(ProduceFromImages(files));
  if (IsTableFormat(dataset.format)) return from(ProduceFromTables(dataset.format, files));
  throw Error(
      ErrorKind::kUsage, fmt::format("'{}' cannot be converted", files[0].string()),
      "sources are .npy and .npz files, tar shards, folders of images, TFRecord and HDF5; idx files are given with "
      "--images and --labels");
}

Source OpenImages(const fs::path& directory) {
  Source source;
  source.producer = ProduceFromImageFolders(directory, source.left_out);
  source.file_count = source.producer->record_count();
  return source;
}

Source Open(const ConvertOptions& options) {
  const bool idx = !options.images.empty() || !options.labels.empty();
  if (idx == !options.sources.empty()) {
    throw Error(ErrorKind::kUsage, "name either a source or idx files of images and labels",
                "give --from SOURCE, or --images FILE and --labels FILE");
  }
  if (idx) return {{options.images, options.labels}, ProduceFromIdx(options.images, options.labels)};
  const auto [sources, is_set] = ExpandSources(options.sources);
  if (!is_set && std::ranges::all_of(sources, IsNumpy)) return {sources, ProduceFromNpy(sources)};
  if (sources.size() == 1 && HasImageFolders(sources[0])) return OpenImages(sources[0]);
  return OpenDataset(sources);
}

void RequireKnownTarget(const ConvertOptions& options) {
  if (!IsTargetOfConvert(options.to)) {
    throw Error(ErrorKind::kUsage, fmt::format("data cannot be converted to {}", WordOf(options.to)),
                "use --to tfrecord, hdf5 or webdataset");
  }
  if (options.to != DataFormat::kTfrecord && options.compression != Compression::kNone) {
    throw Error(ErrorKind::kUsage, "only TFRecord files are compressed", "leave the compression out, or use tfrecord");
  }
}

/// What the result is called; nothing is written where it would do harm.
std::vector<std::string> NamesFor(const ShardTarget& target, const ConvertOptions& options, std::uint64_t records) {
  if (options.to == DataFormat::kHdf5) return {target.name + ".h5"};
  CheckShardCount(options.shards, records);
  RefuseAnotherSet(target, options.shards);
  return ShardNames(target.name, options.shards, SuffixOf(options.to));
}

/// Records [begin, end) as one file; `name` is what messages call it.
void WriteFileOf(RecordProducer& source, std::uint64_t begin, std::uint64_t end, const fs::path& path,
                 const fs::path& name, const ConvertOptions& options, const OnRecord& on_record) {
  if (options.to == DataFormat::kHdf5) return WriteHdf5(source, path, on_record);
  if (options.to == DataFormat::kTfrecord) {
    return WriteTfrecords(source, begin, end, path, options.compression, on_record);
  }
  WriteSamples(source, begin, end, path, on_record);
  CheckShard(options.to, path, name, end - begin);
}

ConvertResult ConvertFiles(const ConvertOptions& options) {
  RequireKnownTarget(options);
  const auto target = ShardTargetOf(options.destination);
  const auto source = Open(options);
  const auto records = source.producer->record_count();
  const auto names = NamesFor(target, options, records);
  RefuseToReplace(source.files, target.directory, names);
  const auto on_record = [&](std::uint64_t record) {
    if (options.progress) options.progress(record, records);
  };
  PendingFiles pending(target.directory);
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    WriteFileOf(*source.producer, i * records / names.size(), (i + 1) * records / names.size(), pending.Add(names[i]),
                target.directory / names[i], options, on_record);
  }
  on_record(records);
  return {pending.Publish(), records, pending.bytes(), source.left_out, source.file_count, options.to};
}

}  // namespace

bool IsTargetOfConvert(DataFormat format) {
  return format == DataFormat::kTfrecord || format == DataFormat::kHdf5 || format == DataFormat::kWebdataset;
}

ConvertResult Convert(const ConvertOptions& options) {
  return WithSystemErrors([&] { return ConvertFiles(options); });
}

}  // namespace slipway::staging
