#include "staging/formats/stream_check.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/formats/superblock.h"
#include "staging/formats/table_file.h"
#include "staging/formats/tfrecord_check.h"

namespace slipway::staging {

namespace {

constexpr std::size_t kReadBlock = 1 << 20;

/// Signature and size; HDF5 protects its data only where the file has checksums of its own.
class Hdf5Check : public StreamCheck {
 public:
  explicit Hdf5Check(std::filesystem::path name) : name_(std::move(name)) {}

  std::uint32_t Update(std::span<const std::byte> bytes) override {
    search_.Update(bytes);
    size_ += bytes.size();
    return Crc32c(bytes);
  }

  StreamSummary Finish() override {
    const auto expected = Hdf5EndOfFile(search_, name_);
    if (size_ == expected) return {};
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is {}: its HDF5 superblock expects {} bytes, it has {}", name_.string(),
                            size_ < expected ? "truncated" : "too long", expected, size_),
                "the file is damaged: copy it again from its source");
  }

 private:
  std::filesystem::path name_;
  SuperblockSearch search_;
  std::uint64_t size_ = 0;
};

class RawCheck : public StreamCheck {
 public:
  std::uint32_t Update(std::span<const std::byte> bytes) override { return Crc32c(bytes); }
  StreamSummary Finish() override { return {}; }
};

}  // namespace

WordTable<DataFormat> WordsOf(DataFormat) {
  static constexpr Word<DataFormat> kWords[] = {
      {DataFormat::kTfrecord, "tfrecord", "TFRecord files, plain or compressed"},
      {DataFormat::kHdf5, "hdf5", "HDF5 files"},
      {DataFormat::kWebdataset, "webdataset", "tar shards of samples, as WebDataset reads them"},
      {DataFormat::kNumpy, "numpy", ".npy and .npz files of NumPy"},
      {DataFormat::kImages, "images", "JPEG, PNG, GIF, BMP and WebP files, a folder for each class"},
      {DataFormat::kRaw, "raw", "any files, copied and summed"}};
  return kWords;
}

void FeedFile(const std::filesystem::path& path, StreamCheck& check,
              const std::function<void(std::uint64_t)>& progress) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);  // a FIFO must not make us wait for a writer
  std::vector<std::byte> buffer(kReadBlock);
  ReadPieces(fd.get(), buffer, path, [&](std::span<const std::byte> piece) {
    check.Update(piece);
    if (progress) progress(piece.size());
  });
}

std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, std::filesystem::path name, RecordContents contents) {
  switch (format) {
    case DataFormat::kTfrecord: return std::make_unique<TfrecordCheck>(std::move(name), Inflater::Sink(), contents);
    case DataFormat::kHdf5: return std::make_unique<Hdf5Check>(std::move(name));
    case DataFormat::kWebdataset: return CheckWebdataset(std::move(name));
    case DataFormat::kNumpy: return CheckNumpy(std::move(name));
    case DataFormat::kImages: return CheckImage(std::move(name));
    case DataFormat::kRaw: return std::make_unique<RawCheck>();
  }
  throw Error(ErrorKind::kInternal, "unknown data format");
}

}  // namespace slipway::staging
