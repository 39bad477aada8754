#include "staging/convert/reshard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/filesystem_errors.h"
#include "staging/convert/files_in_turn.h"
#include "staging/convert/numpy_shards.h"
#include "staging/convert/pending_files.h"
#include "staging/convert/shard_names.h"
#include "staging/convert/shard_part.h"
#include "staging/convert/source_files.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kPieceRecords = 1024;  // between two reports

/// A file of the source, and itself for the kernel.
struct OpenPart {
  std::unique_ptr<ShardPart> part;
  UniqueFd fd;
  std::uint64_t record_count() const { return part->record_count(); }
};

std::vector<fs::path> PathsOf(const DatasetFiles& dataset) {
  std::vector<fs::path> paths;
  for (const auto& file : dataset.files) paths.push_back(file.path);
  return paths;
}

/// Errors that say "this pair of files cannot do that", not "the disk is bad".
bool MustBeWritten(int code) {
  return code == EXDEV || code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EPERM;
}

class ShardWriter {
 public:
  explicit ShardWriter(fs::path path) : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_EXCL)) {}

  /// Records [begin, end) of `source`, counted in its file.
  void Append(const OpenPart& source, std::uint64_t begin, std::uint64_t end) {
    auto range = source.part->CheckedRange(begin, end);
    if (source.part->IsPlain()) range.begin = CopyInKernel(source, range);
    if (range.begin == range.end) return;
    const auto rest = source.part->Bytes(range, buffer_);
    Append({reinterpret_cast<const char*>(rest.data()), rest.size()});
  }

  void Append(std::string_view bytes) { WriteAll(fd_.get(), bytes, path_); }

  void Close() {
    SyncFile(fd_.get(), path_);
    fd_.Reset();
  }

 private:
  /// Returns how far it came: what is left is to be written.
  std::uint64_t CopyInKernel(const OpenPart& source, ByteRange range) {
    auto from = range.begin;
    while (from < range.end && kernel_copies_) {
      auto at = static_cast<off64_t>(from);
      const auto count = ::copy_file_range(source.fd.get(), &at, fd_.get(), nullptr, range.end - from, 0);
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
  std::vector<std::byte> buffer_;
};

class Resharding {
 public:
  Resharding(const DatasetFiles& dataset, const ConvertProgress& progress)
      : format_(dataset.format),
        parts_(PathsOf(dataset),
               [&dataset](std::size_t number) {
                 const auto& file = dataset.files[number];
                 return OpenPart{OpenShardPart(dataset.format, file), OpenFile(file.path, O_RDONLY)};
               }),
        progress_(progress) {}

  std::uint64_t record_count() const { return parts_.record_count(); }

  /// `name` is what messages call the new file.
  void Write(const fs::path& path, const fs::path& name, std::uint64_t begin, std::uint64_t end) {
    const auto records = end - begin;
    ShardWriter writer(path);
    while (begin < end) {
      const auto [number, first] = parts_.Find(begin);
      const auto& part = parts_.At(number);
      const auto count = std::min({end - begin, part.record_count() - first, kPieceRecords});
      writer.Append(part, first, first + count);
      begin += count;
      if (progress_) progress_(begin, record_count());
    }
    writer.Append(EndOfShard(format_));
    writer.Close();
    CheckShard(format_, path, name, records);
  }

 private:
  DataFormat format_;
  FilesInTurn<OpenPart> parts_;
  const ConvertProgress& progress_;
};

/// Writes records [begin, end) as a new file at `path`; `name` is what messages call it.
using WriteShard =
    std::function<void(const fs::path& path, const fs::path& name, std::uint64_t begin, std::uint64_t end)>;

ConvertResult CutInto(const ReshardOptions& options, const DatasetFiles& dataset, std::uint64_t records,
                      std::string_view suffix, const WriteShard& write) {
  const auto target = ShardTargetOf(options.destination);
  CheckShardCount(options.shards, records);
  RefuseAnotherSet(target, options.shards);
  const auto names = ShardNames(target.name, options.shards, suffix);
  RefuseToReplace(PathsOf(dataset), target.directory, names);
  PendingFiles pending(target.directory);
  for (std::uint64_t shard = 0; shard < names.size(); ++shard) {
    write(pending.Add(names[shard]), target.directory / names[shard], shard * records / names.size(),
          (shard + 1) * records / names.size());
  }
  return {pending.Publish(), records, pending.bytes(), dataset.left_out, dataset.files.size(), dataset.format};
}

ConvertResult CutBytes(const ReshardOptions& options, const DatasetFiles& dataset) {
  Resharding work(dataset, options.progress);
  return CutInto(options, dataset, work.record_count(), SuffixOf(dataset.format),
                 std::bind_front(&Resharding::Write, &work));
}

ConvertResult CutArrays(const ReshardOptions& options, const DatasetFiles& dataset) {
  NumpyShards work(PathsOf(dataset));
  const auto on_records = [&](std::uint64_t done) {
    if (options.progress) options.progress(done, work.record_count());
  };
  return CutInto(options, dataset, work.record_count(), work.suffix(),
                 [&](const fs::path& path, const fs::path&, std::uint64_t begin, std::uint64_t end) {
                   work.Write(path, begin, end, on_records);
                 });
}

/// An image is a file of its own: several in one file are a WebDataset.
ConvertResult PackImages(const ReshardOptions& options) {
  ConvertOptions convert;
  convert.sources = {options.source};
  convert.destination = options.destination;
  convert.to = DataFormat::kWebdataset;
  convert.shards = options.shards;
  convert.progress = options.progress;
  return Convert(convert);
}

ConvertResult ReshardFiles(const ReshardOptions& options) {
  const auto dataset = DatasetOf(ExpandSource(options.source).paths);
  if (IsCutByRecords(dataset.format)) return CutBytes(options, dataset);
  if (dataset.format == DataFormat::kNumpy) return CutArrays(options, dataset);
  if (dataset.format == DataFormat::kImages) return PackImages(options);
  throw Error(
      ErrorKind::kUsage,
      fmt::format("'{}' is {}, which is not cut into other files", options.source.string(), WordOf(dataset.format)),
      "use 'slipway data convert --to tfrecord --shards N'");
}

}  // namespace

ConvertResult Reshard(const ReshardOptions& options) {
  return WithSystemErrors([&] { return ReshardFiles(options); });
}

}  // namespace slipway::staging
