#include "staging/formats/tfrecord.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/units.h"
#include "staging/formats/tfrecord_check.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {

namespace {

constexpr std::size_t kWriteBlock = 1 << 20;

std::vector<std::uint64_t> IndexRecords(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t offset = 0;
  while (offset < bytes.size()) {
    const RecordPlace place{path, offsets.size(), offset};
    const auto rest = bytes.subspan(offset);
    if (rest.size() < kTfrecordHeaderBytes) ThrowTornHeader(rest, place);
    const auto length = ReadTfrecordLength(rest.first<kTfrecordHeaderBytes>(), place);
    const auto after_header = rest.size() - kTfrecordHeaderBytes;
    // The length may be any number: compare without adding to it.
    if (after_header < kTfrecordFooterBytes || length > after_header - kTfrecordFooterBytes) {
      ThrowTornRecord(length, after_header, place);
    }
    offsets.push_back(offset);
    offset += kTfrecordHeaderBytes + length + kTfrecordFooterBytes;
  }
  return offsets;
}

Compression CompressionOf(std::span<const std::byte> bytes) {
  return GuessCompression(bytes.first(std::min<std::size_t>(bytes.size(), kTfrecordHeaderBytes)));
}

[[noreturn]] void ThrowTooLarge(const std::filesystem::path& path, std::uint64_t limit) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' inflates to more than {}, the most that is held in memory", path.string(),
                          FormatBytes(Bytes{limit})),
              "inflate it into a plain TFRecord file, which is mapped and not held");
}

}  // namespace

InflatedTfrecords InflateTfrecords(const std::filesystem::path& path, std::uint64_t limit) {
  InflatedTfrecords records;
  TfrecordCheck check(path, [&](std::span<const std::byte> inflated) {
    if (inflated.size() > limit - records.frames.bytes().size()) ThrowTooLarge(path, limit);
    records.frames.Append(inflated);
  });
  FeedFile(path, check);
  records.offsets = check.Finish().record_offsets;
  return records;
}

TfrecordFile::TfrecordFile(std::filesystem::path path, std::uint64_t inflate_limit)
    : path_(std::move(path)), file_(path_), compression_(CompressionOf(file_.bytes())) {
  if (compression_ == Compression::kNone) {
    offsets_ = IndexRecords(file_.bytes(), path_);
  } else {
    auto inflated = InflateTfrecords(path_, inflate_limit);
    inflated_ = std::move(inflated.frames);
    offsets_ = std::move(inflated.offsets);
  }
}

std::span<const std::byte> TfrecordFile::Record(std::uint64_t record) const {
  const auto begin = offsets_[record];
  const auto end = record + 1 < offsets_.size() ? offsets_[record + 1] : frames().size();
  const auto frame = frames().subspan(begin, end - begin);
  const auto data = frame.subspan(kTfrecordHeaderBytes, frame.size() - kTfrecordHeaderBytes - kTfrecordFooterBytes);
  CheckTfrecordFooter(frame.last<kTfrecordFooterBytes>(), Crc32c(data), {path_, record, begin});
  return data;
}

TfrecordWriter::TfrecordWriter(std::filesystem::path path, Compression compression)
    : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_TRUNC)) {
  if (compression != Compression::kNone) deflater_.emplace(compression);
}

TfrecordWriter::TfrecordWriter(TfrecordWriter&&) noexcept = default;
TfrecordWriter& TfrecordWriter::operator=(TfrecordWriter&&) noexcept = default;
TfrecordWriter::~TfrecordWriter() = default;

void TfrecordWriter::Write(std::span<const std::byte> data) { Write(AsText(data)); }

void TfrecordWriter::Write(std::string_view data) {
  const auto header = MakeTfrecordHeader(data.size());
  const auto footer = MakeTfrecordFooter(Crc32c(data));
  buffer_.append(AsText(header)).append(data).append(AsText(footer));
  if (buffer_.size() >= kWriteBlock) Flush();
}

void TfrecordWriter::Close() {
  Flush();
  if (deflater_) deflater_->Finish([this](std::string_view bytes) { WriteAll(fd_.get(), bytes, path_); });
  SyncFile(fd_.get(), path_);
  fd_.Reset();
}

void TfrecordWriter::Flush() {
  if (deflater_) {
    deflater_->Update(buffer_, [this](std::string_view bytes) { WriteAll(fd_.get(), bytes, path_); });
  } else {
    WriteAll(fd_.get(), buffer_, path_);
  }
  buffer_.clear();
}

}  // namespace slipway::staging
