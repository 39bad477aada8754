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
#include "core/filesystem_errors.h"
#include "staging/convert/files_in_turn.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/shard_names.h"
#include "staging/dataset/dataset_files.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kPieceRecords = 1024;  // between two reports

/// A file of the source.
struct ShardPart {
  TfrecordFile file;
  UniqueFd fd;
  std::uint64_t record_count() const { return file.record_count(); }
};

ShardPart OpenPart(const DatasetFile& listed) {
  TfrecordFile file(listed.path);
  CheckPromises(listed, file.byte_count(), file.record_count());
  return {std::move(file), OpenFile(listed.path, O_RDONLY)};
}

std::vector<fs::path> PathsOf(const DatasetFiles& dataset) {
  std::vector<fs::path> paths;
  for (const auto& file : dataset.files) paths.push_back(file.path);
  return paths;
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
  void Append(const ShardPart& part, std::uint64_t begin, std::uint64_t end) {
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
  std::uint64_t CopyInKernel(const ShardPart& part, std::uint64_t from, std::uint64_t to) {
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
  Resharding(const DatasetFiles& dataset, const ConvertProgress& progress)
      : parts_(PathsOf(dataset), [&dataset](std::size_t number) { return OpenPart(dataset.files[number]); }),
        progress_(progress) {}

  std::uint64_t record_count() const { return parts_.record_count(); }

  void Write(const fs::path& path, std::uint64_t begin, std::uint64_t end) {
    ShardWriter writer(path);
    while (begin < end) {
      const auto [number, first] = parts_.Find(begin);
      const auto& part = parts_.At(number);
      const auto count = std::min({end - begin, part.record_count() - first, kPieceRecords});
      writer.Append(part, first, first + count);
      begin += count;
      if (progress_) progress_(begin, record_count());
    }
    writer.Close();
  }

 private:
  FilesInTurn<ShardPart> parts_;
  const ConvertProgress& progress_;
};

ConvertResult ReshardFiles(const ReshardOptions& options) {
  const auto target = ShardTargetOf(options.destination);
  const auto dataset = FindDatasetFiles(options.source);
  if (dataset.format != DataFormat::kTfrecord) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is {}: only TFRecord is cut on the borders of records", options.source.string(),
                            WordOf(dataset.format)),
                "use 'slipway data convert --to tfrecord --shards N'");
  }
  Resharding work(dataset, options.progress);
  const auto records = work.record_count();
  CheckShardCount(options.shards, records);
  RefuseAnotherSet(target, options.shards);
  const auto names = ShardNames(target.name, options.shards);
  RefuseToReplace(PathsOf(dataset), target.directory, names);
  PendingFiles pending(target.directory);
  for (std::uint64_t shard = 0; shard < names.size(); ++shard) {
    work.Write(pending.Add(names[shard]), shard * records / names.size(), (shard + 1) * records / names.size());
  }
  return {pending.Publish(), records, pending.bytes(), dataset.left_out, dataset.files.size()};
}

}  // namespace

ConvertResult Reshard(const ReshardOptions& options) {
  return WithSystemErrors([&] { return ReshardFiles(options); });
}

}  // namespace slipway::staging
