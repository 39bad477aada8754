#include "staging/formats/stream_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/crc32c.h"
#include "core/error.h"
#include "staging/formats/superblock.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {

namespace {

/// header -> data -> footer -> header ..., whatever the borders of the pieces are.
class TfrecordCheck : public StreamCheck {
 public:
  explicit TfrecordCheck(std::filesystem::path name) : name_(std::move(name)) {}

  void Update(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) bytes = bytes.subspan(Take(bytes));
  }

  StreamSummary Finish() override {
    if (part_ != Part::kHeader) ThrowTornRecord(length_, BytesAfterHeader(), Place());
    if (held_ != 0) ThrowTornHeader(std::span(header_).first(held_), Place());
    return {offsets_.size(), std::move(offsets_)};
  }

 private:
  enum class Part { kHeader, kData, kFooter };

  /// Consumes bytes of the present part only; returns how many.
  std::size_t Take(std::span<const std::byte> bytes) {
    switch (part_) {
      case Part::kHeader: return TakeHeader(bytes);
      case Part::kData: return TakeData(bytes);
      case Part::kFooter: return TakeFooter(bytes);
    }
    return 0;
  }

  std::size_t TakeHeader(std::span<const std::byte> bytes) {
    const auto count = Collect(bytes, header_);
    if (held_ < header_.size()) return count;
    length_ = left_ = ReadTfrecordLength(header_, Place());
    crc_ = 0;
    Enter(length_ == 0 ? Part::kFooter : Part::kData);
    return count;
  }

  std::size_t TakeData(std::span<const std::byte> bytes) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
    crc_ = Crc32c(bytes.first(count), crc_);
    left_ -= count;
    if (left_ == 0) Enter(Part::kFooter);
    return count;
  }

  std::size_t TakeFooter(std::span<const std::byte> bytes) {
    const auto count = Collect(bytes, footer_);
    if (held_ < footer_.size()) return count;
    CheckTfrecordFooter(footer_, crc_, Place());
    offsets_.push_back(record_at_);
    record_at_ += kTfrecordHeaderBytes + length_ + kTfrecordFooterBytes;
    Enter(Part::kHeader);
    return count;
  }

  /// Fills `buffer`, of which `held_` bytes are there already.
  std::size_t Collect(std::span<const std::byte> bytes, std::span<std::byte> buffer) {
    const auto count = std::min(bytes.size(), buffer.size() - held_);
    std::memcpy(buffer.data() + held_, bytes.data(), count);
    held_ += count;
    return count;
  }

  void Enter(Part part) {
    part_ = part;
    held_ = 0;
  }

  std::uint64_t BytesAfterHeader() const { return length_ - left_ + held_; }
  RecordPlace Place() const { return {name_, offsets_.size(), record_at_}; }

  std::filesystem::path name_;
  Part part_ = Part::kHeader;
  TfrecordHeader header_{};
  TfrecordFooter footer_{};
  std::size_t held_ = 0;         // bytes of the present header or footer that have arrived
  std::uint64_t length_ = 0;     // of the present record
  std::uint64_t left_ = 0;       // of its data
  std::uint32_t crc_ = 0;        // of the data so far
  std::uint64_t record_at_ = 0;  // offset of the present record's header
  std::vector<std::uint64_t> offsets_;
};

/// Signature and size; HDF5 protects its data only where the file has checksums of its own.
class Hdf5Check : public StreamCheck {
 public:
  explicit Hdf5Check(std::filesystem::path name) : name_(std::move(name)) {}

  void Update(std::span<const std::byte> bytes) override {
    const auto count = std::min(bytes.size(), kSuperblockSearchBytes - head_.size());
    head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    size_ += bytes.size();
  }

  StreamSummary Finish() override {
    const auto expected = Hdf5EndOfFile(head_, name_);
    if (size_ == expected) return {};
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is {}: its HDF5 superblock expects {} bytes, it has {}", name_.string(),
                            size_ < expected ? "truncated" : "too long", expected, size_),
                "the file is damaged: copy it again from its source");
  }

 private:
  std::filesystem::path name_;
  std::vector<std::byte> head_;
  std::uint64_t size_ = 0;
};

class RawCheck : public StreamCheck {
 public:
  void Update(std::span<const std::byte>) override {}
  StreamSummary Finish() override { return {}; }
};

}  // namespace

std::string_view DataFormatName(DataFormat format) {
  switch (format) {
    case DataFormat::kTfrecord: return "tfrecord";
    case DataFormat::kHdf5: return "hdf5";
    case DataFormat::kRaw: return "raw";
  }
  return "raw";
}

std::optional<DataFormat> ParseDataFormat(std::string_view name) {
  for (const auto format : {DataFormat::kTfrecord, DataFormat::kHdf5, DataFormat::kRaw}) {
    if (DataFormatName(format) == name) return format;
  }
  return {};
}

std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, std::filesystem::path name) {
  switch (format) {
    case DataFormat::kTfrecord: return std::make_unique<TfrecordCheck>(std::move(name));
    case DataFormat::kHdf5: return std::make_unique<Hdf5Check>(std::move(name));
    case DataFormat::kRaw: return std::make_unique<RawCheck>();
  }
  throw Error(ErrorKind::kInternal, "unknown data format");
}

}  // namespace slipway::staging
