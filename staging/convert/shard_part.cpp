#include "staging/convert/shard_part.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/positioned_io.h"
#include "staging/formats/tar_header.h"
#include "staging/formats/tfrecord.h"
#include "staging/formats/webdataset.h"

namespace slipway::staging {
namespace {

class TfrecordPart final : public ShardPart {
 public:
  explicit TfrecordPart(const DatasetFile& listed) : file_(listed.path) {
    CheckPromises(listed, file_.byte_count(), file_.record_count());
  }

  std::uint64_t record_count() const override { return file_.record_count(); }
  ByteRange CheckedRange(std::uint64_t begin, std::uint64_t end) const override {
    for (auto record = begin; record < end; ++record) file_.Record(record);  // checks its CRC
    return {OffsetOf(begin), OffsetOf(end)};
  }
  bool IsPlain() const override { return file_.compression() == Compression::kNone; }
  std::span<const std::byte> Bytes(ByteRange range, std::vector<std::byte>&) const override {
    return file_.frames().subspan(range.begin, range.end - range.begin);
  }

 private:
  std::uint64_t OffsetOf(std::uint64_t record) const {
    return record < file_.record_count() ? file_.offsets()[record] : file_.frames().size();
  }

  TfrecordFile file_;
};

class WebdatasetPart final : public ShardPart {
 public:
  explicit WebdatasetPart(const DatasetFile& listed) : path_(listed.path), fd_(OpenFile(path_, O_RDONLY | O_NONBLOCK)) {
    WebdatasetSamples samples(path_, [this](const WebdatasetSample& sample) { ranges_.push_back(sample.bytes); });
    const auto size = FileBytes(path_);
    samples.Scan(fd_.get(), size);
    CheckPromises(listed, size, ranges_.size());
  }

  std::uint64_t record_count() const override { return ranges_.size(); }
  ByteRange CheckedRange(std::uint64_t begin, std::uint64_t end) const override {
    return {ranges_[begin].begin, ranges_[end - 1].end};
  }
  bool IsPlain() const override { return true; }
  std::span<const std::byte> Bytes(ByteRange range, std::vector<std::byte>& buffer) const override {
    buffer.resize(range.end - range.begin);
    ReadAt(fd_.get(), range.begin, buffer, path_);
    return buffer;
  }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::vector<ByteRange> ranges_;
};

}  // namespace

std::unique_ptr<ShardPart> OpenShardPart(DataFormat format, const DatasetFile& file) {
  if (format == DataFormat::kWebdataset) return std::make_unique<WebdatasetPart>(file);
  return std::make_unique<TfrecordPart>(file);
}

bool IsCutByRecords(DataFormat format) { return format == DataFormat::kTfrecord || format == DataFormat::kWebdataset; }

std::string_view EndOfShard(DataFormat format) {
  return format == DataFormat::kWebdataset ? EndOfTar() : std::string_view();
}

void CheckShard(DataFormat format, const std::filesystem::path& file, const std::filesystem::path& name,
                std::uint64_t records) {
  if (format != DataFormat::kWebdataset) return;
  std::uint64_t count = 0;
  WebdatasetSamples samples(name, [&count](const WebdatasetSample&) { ++count; });
  WithContext("two files of the source may have samples of one key",
              [&] { samples.Scan(OpenFile(file, O_RDONLY).get(), FileBytes(file)); });
  if (count == records) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' has {} samples of {}: two files of the source have samples of one key", name.string(),
                          count, records),
              "write the source again with a key for each sample");
}

}  // namespace slipway::staging
