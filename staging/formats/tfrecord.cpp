#include "staging/formats/tfrecord.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
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

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TfrecordFile::TfrecordFile(std::filesystem::path path)
    : path_(std::move(path)), file_(path_), offsets_(IndexRecords(file_.bytes(), path_)) {}

std::span<const std::byte> TfrecordFile::Record(std::uint64_t record) const {
  const auto begin = offsets_[record];
  const auto end = record + 1 < offsets_.size() ? offsets_[record + 1] : file_.bytes().size();
  const auto frame = file_.bytes().subspan(begin, end - begin);
  const auto data = frame.subspan(kTfrecordHeaderBytes, frame.size() - kTfrecordHeaderBytes - kTfrecordFooterBytes);
  CheckTfrecordFooter(frame.last<kTfrecordFooterBytes>(), Crc32c(data), {path_, record, begin});
  return data;
}

TfrecordWriter::TfrecordWriter(std::filesystem::path path)
    : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_TRUNC)) {}

void TfrecordWriter::Write(std::span<const std::byte> data) { Write(AsText(data)); }

void TfrecordWriter::Write(std::string_view data) {
  const auto header = MakeTfrecordHeader(data.size());
  const auto footer = MakeTfrecordFooter(Crc32c(data));
  buffer_.append(AsText(header)).append(data).append(AsText(footer));
  if (buffer_.size() >= kWriteBlock) Flush();
}

void TfrecordWriter::Close() {
  Flush();
  CheckErrno(::fsync(fd_.get()), fmt::format("cannot sync '{}'", path_.string()));
  fd_.Reset();
}

void TfrecordWriter::Flush() {
  WriteAll(fd_.get(), buffer_, path_);
  buffer_.clear();
}

}  // namespace slipway::staging
