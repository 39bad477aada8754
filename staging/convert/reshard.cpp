#include "staging/convert/reshard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/shard_names.h"
#include "staging/dataset/dataset_files.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kPieceRecords = 1024;  // between two reports

/// A file of the source and the number of its first record.
struct Part {
  TfrecordFile file;
  std::uint64_t first;
  UniqueFd fd;
};

std::vector<Part> OpenParts(const DatasetFiles& dataset) {
  std::vector<Part> parts;
  std::uint64_t first = 0;
  for (const auto& listed : dataset.files) {
    TfrecordFile file(listed.path);
    CheckPromises(listed, file.byte_count(), file.record_count());
    const auto count = file.record_count();
    parts.push_back({std::move(file), first, OpenFile(listed.path, O_RDONLY)});
    first += count;
  }
  return parts;
}

std::uint64_t OffsetOf(const TfrecordFile& file, std::uint64_t record) {
  return record < file.record_count() ? file.offsets()[record] : file.frames().size();
}

/// Errors that say "this pair of files cannot do that", not "the disk is bad".
bool MustBeWritten(int code) {
  return code == EXDEV || code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EPERM;
}

class ShardWriter {
 public:
  explicit ShardWriter(fs::path path) : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_EXCL)) {}

  /// Records [begin, end) of `part`, counted in its file.
  void Append(const Part& part, std::uint64_t begin, std::uint64_t end) {
    for (auto record = begin; record < end; ++record) part.file.Record(record);  // checks its CRC
    auto from = OffsetOf(part.file, begin);
    const auto to = OffsetOf(part.file, end);
    if (part.file.compression() == Compression::kNone) from = CopyInKernel(part, from, to);
    const auto rest = part.file.frames().subspan(from, to - from);
    WriteAll(fd_.get(), {reinterpret_cast<const char*>(rest.data()), rest.size()}, path_);
  }

  void Close() {
    CheckErrno(::fsync(fd_.get()), fmt::format("cannot sync '{}'", path_.string()));
    fd_.Reset();
  }

 private:
  /// Returns how far it came: what is left is to be written.
  std::uint64_t CopyInKernel(const Part& part, std::uint64_t from, std::uint64_t to) {
    while (from < to && kernel_copies_) {
      auto at = static_cast<off64_t>(from);
      const auto count = ::copy_file_range(part.fd.get(), &at, fd_.get(), nullptr, to - from, 0);
      if (count > 0) {
        from += static_cast<std::uint64_t>(count);
      } else if (count == 0 || MustBeWritten(errno)) {
        kernel_copies_ = false;
      } else if (errno != EINTR) {
        ThrowErrno(fmt::format("cannot write '{}'", path_.string()));
      }
    }
    return from;
  }

  fs::path path_;
  UniqueFd fd_;
  bool kernel_copies_ = true;
};

class Resharding {
 public:
  Resharding(const ReshardOptions& options, std::vector<Part> parts, std::uint64_t records)
      : options_(options), parts_(std::move(parts)), records_(records) {}

  void Write(const fs::path& path, std::uint64_t begin, std::uint64_t end) {
    ShardWriter writer(path);
    while (begin < end) {
      const auto& part = PartOf(begin);
      const auto last = std::min({end, part.first + part.file.record_count(), begin + kPieceRecords});
      writer.Append(part, begin - part.first, last - part.first);
      begin = last;
      if (options_.progress) options_.progress(begin, records_);
    }
    writer.Close();
  }

 private:
  /// The last part that begins at or before `record`: empty files end where they begin.
  const Part& PartOf(std::uint64_t record) const {
    return *std::prev(std::ranges::upper_bound(parts_, record, {}, &Part::first));
  }

  const ReshardOptions& options_;
  std::vector<Part> parts_;
  std::uint64_t records_;
};

/// A shard that replaces a file of the source would leave a set that is half old and half new.
void RefuseToReplace(const DatasetFiles& source, const ShardTarget& target, int shards) {
  for (int shard = 0; shard < shards; ++shard) {
    const auto path = target.directory / ShardName(target.name, shard, shards);
    std::error_code missing;
    const auto same = [&](const DatasetFile& file) { return fs::equivalent(file.path, path, missing); };
    if (std::ranges::none_of(source.files, same)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is a file of the source", path.string()),
                "write into another directory");
  }
}

}  // namespace

ConvertResult Reshard(const ReshardOptions& options) {
  const auto target = ShardTargetOf(options.destination);
  const auto dataset = FindDatasetFiles(options.source);
  if (dataset.format != DataFormat::kTfrecord) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is {}: only TFRecord is cut on the borders of records", options.source.string(),
                            DataFormatName(dataset.format)),
                "use 'slipway data convert --to tfrecord --shards N'");
  }
  auto parts = OpenParts(dataset);
  const auto records = parts.back().first + parts.back().file.record_count();
  CheckShardCount(options.shards, records);
  RefuseToReplace(dataset, target, options.shards);
  RefuseAnotherSet(target, options.shards);
  Resharding work(options, std::move(parts), records);
  PendingFiles pending(target.directory);
  const auto shards = static_cast<std::uint64_t>(options.shards);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    const auto path = pending.Add(ShardName(target.name, static_cast<int>(shard), options.shards));
    work.Write(path, shard * records / shards, (shard + 1) * records / shards);
  }
  ConvertResult result{pending.Publish(), records, 0};
  for (const auto& file : result.files) result.bytes += fs::file_size(file);
  return result;
}

}  // namespace slipway::staging
