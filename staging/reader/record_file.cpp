#include "staging/reader/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/formats/little_endian.h"
#include "staging/formats/positioned_io.h"
#include "staging/formats/tfrecord_check.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kScanBytes = 64 << 10;
constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kAnnouncedBytes = 8 << 10;

struct OpenedFile {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

OpenedFile OpenRegular(const fs::path& path) {
  OpenedFile opened{OpenFile(path, O_RDONLY | O_NONBLOCK), 0};  // a FIFO must not make us wait for a writer
  struct stat info {};
  CheckErrno(::fstat(opened.fd.get(), &info), fmt::format("cannot look at '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not a regular file", path.string()), "name a file");
  }
  opened.bytes = static_cast<std::uint64_t>(info.st_size);
  return opened;
}

/// The headers of a file, read in blocks: small records share one, large ones are skipped.
class HeaderScan {
 public:
  HeaderScan(const OpenedFile& file, const fs::path& path) : file_(file), path_(path) {}

  std::vector<std::uint64_t> Run() {
    std::uint64_t offset = 0;
    while (offset < file_.bytes) {
      const auto next = EndAfter(offset);
      offsets_.push_back(offset);
      offset = next;
    }
    return std::move(offsets_);
  }

 private:
  std::uint64_t EndAfter(std::uint64_t offset) {
    const RecordPlace place{path_, offsets_.size(), offset};
    const auto header = BytesAt(offset);
    if (header.size() < kTfrecordHeaderBytes) ThrowTornHeader(header, place);
    const auto length = ReadTfrecordLength(header.first<kTfrecordHeaderBytes>(), place);
    const auto after_header = file_.bytes - offset - kTfrecordHeaderBytes;
    // The length may be any number: compare without adding to it.
    if (after_header < kTfrecordFooterBytes || length > after_header - kTfrecordFooterBytes) {
      ThrowTornRecord(length, after_header, place);
    }
    return offset + kTfrecordHeaderBytes + length + kTfrecordFooterBytes;
  }

  /// As much of a header as the file has.
  std::span<const std::byte> BytesAt(std::uint64_t offset) {
    const auto wanted = std::min(kTfrecordHeaderBytes, file_.bytes - offset);
    if (offset < begin_ || offset + wanted > begin_ + block_.size()) {
      begin_ = offset;
      block_.resize(std::min(kScanBytes, file_.bytes - offset));
      ReadAt(file_.fd.get(), offset, block_, path_);
    }
    return std::span(block_).subspan(offset - begin_, wanted);
  }

  const OpenedFile& file_;
  const fs::path& path_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> block_;
};

bool IsCompressed(const OpenedFile& file, const fs::path& path) {
  std::vector<std::byte> head(std::min(kTfrecordHeaderBytes, file.bytes));
  ReadAt(file.fd.get(), 0, head, path);
  return GuessCompression(head) != Compression::kNone;
}

/// The records of a compressed file, which is inflated for that.
RecordIndex ScanInflated(const fs::path& path) {
  RecordIndex index;
  TfrecordCheck check(path, [&](std::span<const std::byte> inflated) { index.end += inflated.size(); });
  FeedFile(path, check);
  index.offsets = check.Finish().record_offsets;
  return index;
}

/// The index may come from a journal, which promises less than records.index. Reads rely on it.
void CheckBorders(const RecordIndex& index, const fs::path& path) {
  std::uint64_t begin = index.offsets.empty() ? index.end : index.offsets[0];
  bool good = begin == 0;
  for (std::size_t i = 1; i <= index.offsets.size(); ++i) {
    const auto end = i < index.offsets.size() ? index.offsets[i] : index.end;
    good = good && end >= begin && end - begin >= kTfrecordHeaderBytes + kTfrecordFooterBytes;
    begin = end;
  }
  if (good) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("the index of the records of '{}' is damaged", path.string()),
              "stage the dataset again");
}

void CheckEnd(const RecordIndex& index, std::uint64_t bytes, const fs::path& path) {
  if (index.end == bytes) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' has {} bytes, the index of its records ends at {}", path.string(), bytes, index.end),
              "stage the dataset again");
}

}  // namespace

bool IsCompressed(const fs::path& path) { return IsCompressed(OpenRegular(path), path); }

RecordFile::RecordFile(const DatasetFile& file, AccessPattern pattern, InflatedFiles& inflated) : path_(file.path) {
  auto opened = OpenRegular(path_);
  const bool compressed = IsCompressed(opened, path_);
  if (compressed) inflated_ = &inflated;
  if (file.index) {
    if (!compressed) CheckEnd(*file.index, opened.bytes, path_);
    CheckBorders(*file.index, path_);
    offsets_ = file.index->offsets;
    end_ = file.index->end;
  } else {
    auto scanned = compressed ? ScanInflated(path_) : RecordIndex{HeaderScan(opened, path_).Run(), opened.bytes};
    offsets_ = std::move(scanned.offsets);
    end_ = scanned.end;
  }
  CheckPromises(file, opened.bytes, offsets_.size());
  if (!compressed) Open(std::move(opened.fd), file.staged, pattern);
}

void RecordFile::Open(UniqueFd fd, bool staged, AccessPattern pattern) {
  if (!staged) {
    fd_ = std::move(fd);
    const auto advice = pattern == AccessPattern::kInOrder ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM;
    ::posix_fadvise(fd_.get(), 0, 0, advice);
    return;
  }
  map_.emplace(path_);
  // At random the kernel's way to read a little around each place is right, in order it may read far ahead.
  if (pattern == AccessPattern::kInOrder && end_ > 0) {
    ::madvise(const_cast<std::byte*>(map_->bytes().data()), map_->bytes().size(), MADV_SEQUENTIAL);
  }
}

std::uint64_t RecordFile::EndOf(std::uint64_t record) const {
  return record + 1 < offsets_.size() ? offsets_[record + 1] : end_;
}

void RecordFile::Announce(std::uint64_t record) const {
  if (!map_) return;
  const auto begin = offsets_[record];
  const auto* bytes = map_->bytes().data() + begin;
  const auto count = std::min(EndOf(record) - begin, kAnnouncedBytes);
  for (std::uint64_t line = 0; line < count; line += kCacheLine) __builtin_prefetch(bytes + line, 0, 2);
}

std::span<const std::byte> RecordFile::Frame(std::uint64_t record, std::vector<std::byte>& buffer) const {
  const auto begin = offsets_[record];
  const auto bytes = EndOf(record) - begin;
  if (map_) return map_->bytes().subspan(begin, bytes);
  buffer.resize(bytes);
  if (inflated_ == nullptr) {
    ReadAt(fd_.get(), begin, buffer, path_);
    return buffer;
  }
  const auto content = inflated_->Get(path_);
  if (content->bytes().size() != end_) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' inflates to {} bytes, the index of its records ends at {}", path_.string(),
                            content->bytes().size(), end_),
                "stage the dataset again");
  }
  std::ranges::copy(content->bytes().subspan(begin, bytes), buffer.begin());
  return buffer;
}

std::span<const std::byte> RecordFile::Record(std::uint64_t record, std::vector<std::byte>& buffer) const {
  const RecordPlace place{path_, record, offsets_[record]};
  const auto frame = Frame(record, buffer);
  const auto data = frame.subspan(kTfrecordHeaderBytes, frame.size() - kTfrecordHeaderBytes - kTfrecordFooterBytes);
  const auto length = ReadTfrecordLength(frame.first<kTfrecordHeaderBytes>(), place);
  if (length != data.size()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': record {} at byte {}: expected {} bytes of data, found {}: the file has changed",
                            path_.string(), record, place.offset, data.size(), length),
                "stage the dataset, or leave its files alone while they are read");
  }
  CheckTfrecordFooter(frame.last<kTfrecordFooterBytes>(), Crc32c(data), place);
  return data;
}

}  // namespace slipway::staging
